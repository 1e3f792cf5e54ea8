#!/usr/bin/env python3
"""How large the page of a million events is, how soon it is open, how long a frame takes.

    python3 tests/browser/figures.py ./picklock [EVENTS]

Prints "name value unit", a line a figure, as `make bench` does. Where there is no Chromium it prints the bytes alone.
"""
import os
import subprocess
import sys
import tempfile
import time

import chromium
import million

FRAMES = 15
ZOOMS = [("whole run", "look(0, limit())"), ("a tenth", "look(limit() * .4, limit() * .5)"),
         ("a second", "lookAtTimes(cause().t - 5e8, cause().t + 5e8)"), ("the story", "lookAtCause()")]


def frame_ms(browser, zoom):
    """The median of some frames, drawn anew."""
    return browser.js("(() => { view.folded = false; %s; const took = []; for (let k = 0; k < %d; k++) { const begun = "
                      "performance.now(); draw(); "
                      "took.push(performance.now() - begun); } return took.sort((a, b) => a - b)[%d]; })()"
                      % (zoom, FRAMES, FRAMES // 2))


def main():
    picklock, events = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        history, page = os.path.join(folder, "history.jsonl"), os.path.join(folder, "page.html")
        count = million.write(picklock, folder, events, history)
        begun = time.monotonic()
        done = subprocess.run([picklock, "show", history, "--html", page], stdout=subprocess.DEVNULL)
        if done.returncode != 1:
            sys.exit(f"figures: the violation was not found (exit code {done.returncode})")
        print(f"page_events {count} events")
        print(f"page_bytes_per_million {os.path.getsize(page) * 1_000_000 / count / 1e6:.2f} MB")
        print(f"page_drawn_seconds {time.monotonic() - begun:.2f} s")
        if chromium.program() is None:
            print("figures: no chromium here: how fast it opens is not measured", file=sys.stderr)
            return
        browser = chromium.Chromium()
        try:
            before = browser.processor_seconds()
            print(f"page_open_seconds {browser.open(page):.2f} s")
            print(f"page_open_processor_seconds {browser.processor_seconds() - before:.2f} s")
            print(f"page_load_seconds {browser.js('picklock.loadMs') / 1000:.2f} s")
            for name, zoom in ZOOMS:
                key = "page_frame_" + name.replace(" ", "_")
                before = browser.processor_seconds()
                print(f"{key}_ms {frame_ms(browser, zoom):.1f} ms")
                print(f"{key}_processor_ms {(browser.processor_seconds() - before) / FRAMES * 1000:.1f} ms")
            if browser.trouble:
                sys.exit("figures: the page complains: " + browser.trouble[0])
            if len(sys.argv) > 3:
                browser.js("lookAtCause()")
                browser.frame()
                browser.picture(sys.argv[3])
        finally:
            browser.close()


if __name__ == "__main__":
    main()
