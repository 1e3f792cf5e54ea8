"""What the tests of the command share. Each file is run as `FILE.py ./picklock [TEST]...`."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PICKLOCK = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "./picklock")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCENARIOS = ROOT / "scenarios"

GOOD = """\
version: 1
name: NAME
about: one client
lock: {algorithm: redlock, ttl: 10s, node_timeout: 500ms}
nodes: {count: 3}
clients: {count: 1, sections: 2, hold: 1ms, think: 1ms, writes: 1}
duration: 20s
expect: {exclusion: pass}
"""


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="picklock-test-"))

    def tearDown(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def picklock(self, *arguments, **options):
        return subprocess.run([PICKLOCK, *map(str, arguments)], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, **options)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def good(self, name, text=GOOD):
        return self.write(f"{name}.yaml", text.replace("NAME", name))

    def refused(self, result, code, *words):
        """One clear refusal: the documented code, nothing on stdout, no trace of a crash."""
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertNotIn("assertion", result.stderr)


def main():
    outcome = unittest.main(verbosity=1, exit=False).result
    failed = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
