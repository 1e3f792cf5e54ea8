#!/usr/bin/env python3
"""Draws the pictures that docs and README show: screenshots.py ./picklock FOLDER. Look at them before you commit them."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import chromium

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent.parent / "scenarios"
# Name of the picture, scenario, width, height, dark.
PICTURES = [("page", "restart-forgets", 1280, 860, False), ("page-dark", "pause-after-granted", 1280, 860, True),
            ("page-narrow", "clock-jump-one-node", 420, 900, False)]
# One that expects too much, so that something is not as expected.
BATCH = ["restart-forgets", "pause-after-granted", "random/pauses", "library/random/one-extend-any", "contenders-20"]


def picklock(program, folder, *arguments):
    subprocess.run([os.path.abspath(program), "run", *map(str, arguments), "-q"], cwd=folder, stdout=subprocess.DEVNULL)


def main():
    program, out = sys.argv[1], pathlib.Path(sys.argv[2])
    if chromium.program() is None:
        print("screenshots: skipped: no chromium here (Debian: apt-get install chromium)")
        return
    out.mkdir(parents=True, exist_ok=True)
    browser = chromium.Chromium()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(SCENARIOS, os.path.join(folder, "scenarios"))
        for name, scenario, width, height, dark in PICTURES:
            picklock(program, folder, f"scenarios/{scenario}.yaml", "--keep", "always")
            page = pathlib.Path(folder) / "picklock-out" / scenario / "1" / "sim" / "report.html"
            browser.open(page, width, height, dark)
            browser.small_picture(out / (name + ".png"))
            print(out / (name + ".png"))
        strict = pathlib.Path(folder) / "strict.yaml"
        text = (SCENARIOS / "wrong" / "no-recheck.yaml").read_text().replace("name: no-recheck", "name: strict")
        strict.write_text(re.sub(r"section_exclusion: .*", "section_exclusion: pass", text))
        picklock(program, folder, "strict.yaml", *(f"scenarios/{name}.yaml" for name in BATCH), "--seeds", "1..40", "--out", "batch")
        browser.open(os.path.join(folder, "batch", "index.html"), 1280, 860)
        browser.small_picture(out / "batch.png")
        print(out / "batch.png")
    browser.close()


if __name__ == "__main__":
    main()
