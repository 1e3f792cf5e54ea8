#!/usr/bin/env python3
"""asserts.py: assertions for each function, by folder: two are the aim where state is shared.

    make asserts               the table
    tools/asserts.py FOLDER    functions of more than five lines in FOLDER that have none
"""
import collections
import glob
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
from mutants import bodies_of, tokens_of  # noqa: E402

FOLDERS = ["lockcore", "servers", "harness", "checker"]
ASSERTION = re.compile(r"\b(ASSERT|UNREACHABLE|\w+_assert_valid)\(")
LINES_MIN = 5


def functions(path):
    """(name, lines, assertions) of each function of a file."""
    with open(path, encoding="ascii") as source:
        text = source.read()
    tokens = tokens_of(text)
    for name, first, last in bodies_of(text, tokens):
        body = text[tokens[first].start:tokens[last - 1].end]
        yield name, body.count("\n"), len(ASSERTION.findall(body))


def files_below(folder):
    return [p for p in sorted(glob.glob(f"{folder}/**/*.c", recursive=True)) if "/preload/" not in p]


def table():
    count = collections.defaultdict(lambda: [0, 0])
    for folder in FOLDERS:
        for path in files_below(folder):
            for _, _, asserts in functions(path):
                for place in (folder, os.path.dirname(path)):
                    count[place][0] += 1
                    count[place][1] += asserts
                    if place == folder == os.path.dirname(path):
                        break
    print(f"{'folder':<28}{'functions':>10}{'asserts':>9}{'each':>7}")
    for place in sorted(count):
        total, asserts = count[place]
        print(f"{place:<28}{total:>10}{asserts:>9}{asserts / total:>7.2f}")


def without(folder):
    for path in files_below(folder):
        for name, lines, asserts in functions(path):
            if asserts == 0 and lines > LINES_MIN:
                print(f"{path}: {name} ({lines} lines)")


if __name__ == "__main__":
    without(sys.argv[1]) if len(sys.argv) > 1 else table()
