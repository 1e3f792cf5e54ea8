#!/usr/bin/env python3
"""What is built, installed and shipped. `run.py` for what needs nothing, `run.py deb` for the packages."""
import pathlib
import sys
import unittest

if __name__ == "__main__":
    names = sys.argv[1:] or ["library", "manual"]
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    suite = unittest.defaultTestLoader.loadTestsFromNames([f"test_{name}" for name in names])
    outcome = unittest.TextTestRunner(verbosity=1).run(suite)
    failed = len(outcome.failures) + len(outcome.errors)
    skipped = f", {len(outcome.skipped)} skipped" if outcome.skipped else ""
    print(f"{outcome.testsRun - failed - len(outcome.skipped)} passed, {failed} failed{skipped}")
    sys.exit(1 if failed or not outcome.testsRun else 0)
