#!/usr/bin/env python3
"""`picklock bundle` and `picklock replay` of what it packs: whole, elsewhere, damaged, hostile.  usage: bundle.py PICKLOCK"""
import io
import os
import resource
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

PICKLOCK = os.path.abspath(sys.argv.pop(1))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.TemporaryDirectory(prefix="picklock-bundle-test-")
        cls.addClassCleanup(place.cleanup)
        cls.folder = place.name
        cls.run_in(cls.folder, "run", os.path.join(ROOT, "scenarios/single-server.yaml"), "--world", "sim,real", "--keep", "always",
                   "--out", "out", "-q")
        for world in ("sim", "real"):
            done = cls.run_in(cls.folder, "bundle", f"out/single-server/1/{world}")
            assert done.stdout == f"single-server-1-{world}.tar.zst\n", done

    @staticmethod
    def run_in(folder, *words):
        return subprocess.run([PICKLOCK, *words], cwd=folder, capture_output=True, text=True, env={**os.environ, "TMPDIR": folder})

    def verdict(self, path):
        """Of the check that the history is judged by here: exit code and words."""
        done = self.run_in(self.folder, "check", path)
        return done.returncode

    def test_a_run_is_judged_elsewhere_as_it_was_here(self):
        for world, sentence in (("sim", "the same history as recorded"), ("real", "a run of the real world, judged again")):
            with tempfile.TemporaryDirectory() as other:
                moved = os.path.join(other, "it.tar.zst")
                os.rename(os.path.join(self.folder, f"single-server-1-{world}.tar.zst"), moved)
                done = self.run_in(other, "replay", moved)
                os.rename(moved, os.path.join(self.folder, f"single-server-1-{world}.tar.zst"))
                self.assertEqual(os.listdir(other), [])
            self.assertEqual(done.returncode, self.verdict(f"out/single-server/1/{world}/history.jsonl"), done.stderr)
            self.assertIn(sentence, done.stdout)
            self.assertIn("\nthe same verdict as recorded\n", done.stdout)

    def names(self, world):
        plain = subprocess.run(["zstd", "-dc", os.path.join(self.folder, f"single-server-1-{world}.tar.zst")], capture_output=True,
                               check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(plain)) as archive:
            return {member.name: archive.extractfile(member).read() for member in archive.getmembers()}

    def test_all_that_is_needed_is_in_it(self):
        real = self.names("real")
        for name in ("history.jsonl", "single-server.yaml", "report.html", "rerun.sh", "node-1.log", "versions", "verdict"):
            self.assertIn(f"run/{name}", real)
        self.assertIn(b"\nserver redis ", real["run/versions"])
        self.assertIn("run/run.bundle", self.names("sim"))

    def test_equal_files_give_equal_bytes(self):
        for name in ("a.tar.zst", "b.tar.zst"):
            self.assertEqual(self.run_in(self.folder, "bundle", "out/single-server/1/sim", "-o", name).returncode, 0)
        with open(os.path.join(self.folder, "a.tar.zst"), "rb") as a, open(os.path.join(self.folder, "b.tar.zst"), "rb") as b:
            self.assertEqual(a.read(), b.read())

    def refuse(self, data, sentence, code=4):
        path = os.path.join(self.folder, "bad.tar.zst")
        with open(path, "wb") as file:
            file.write(data)
        before = sorted(os.listdir(self.folder))
        done = self.run_in(self.folder, "replay", path)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before, "something was left behind")

    def archive(self, name, kind=tarfile.REGTYPE):
        memory = io.BytesIO()
        with tarfile.open(fileobj=memory, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            member = tarfile.TarInfo(name)
            member.type = kind
            member.linkname = "/etc/passwd"
            member.size = 4 if kind == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(b"evil"))
        return memory.getvalue()

    def test_what_is_no_bundle(self):
        with open(os.path.join(self.folder, "single-server-1-real.tar.zst"), "rb") as file:
            whole = file.read()
        self.refuse(whole[: len(whole) // 2], "no bundle of picklock")
        self.refuse(b"hello" * 1000, "it is no tar archive")
        self.refuse(b"", "no bundle of picklock")
        for name in ("run/../evil", "../evil", "/etc/evil", "evil", "run/.evil", "run/a/b"):
            self.refuse(self.archive(name), "a name that leads elsewhere")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE):
            self.refuse(self.archive("run/evil", kind), "more than plain files")

    def test_what_is_no_run(self):
        self.assertEqual(self.run_in(self.folder, "bundle", "out").returncode, 4)
        both = self.run_in(self.folder, "bundle", "out/single-server/1")
        self.assertEqual(both.returncode, 4)
        self.assertIn("name one of them", both.stderr)
        self.assertEqual(self.run_in(self.folder, "bundle", "out/single-server/1/sim", "-o", "/dev/full").returncode, 3)

    def test_where_the_disk_is_full_half_a_file_is_none(self):
        def full():
            """No file grows beyond two pages."""
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

        run = os.path.join(self.folder, "out/single-server/1/sim")
        history = os.path.join(run, "history.jsonl")
        with tempfile.TemporaryDirectory() as other:
            for words in (["bundle", run, "-o", "it.tar.zst"], ["replay", run, "--history", "it.jsonl"], ["convert", history, "it.jsonl"],
                          ["convert", history, "it.edn"]):
                done = subprocess.run([PICKLOCK, *words], cwd=other, capture_output=True, text=True, preexec_fn=full)
                self.assertEqual(done.returncode, 3, (words, done.stdout))
                self.assertIn(f"{words[-1]}: cannot write: File too large", done.stderr)
                self.assertEqual(os.listdir(other), [], words)

    def test_a_history_that_breaks_off_is_converted_to_no_half_of_one(self):
        with open(os.path.join(self.folder, "out/single-server/1/sim/history.jsonl"), encoding="utf-8") as whole:
            lines = whole.readlines()
        with tempfile.TemporaryDirectory() as other:
            with open(os.path.join(other, "bad.jsonl"), "w", encoding="utf-8") as bad:
                bad.writelines([*lines[:20], "{no event\n"])
            for name in ("it.jsonl", "it.edn"):
                done = self.run_in(other, "convert", "bad.jsonl", name)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(os.listdir(other), ["bad.jsonl"], done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
