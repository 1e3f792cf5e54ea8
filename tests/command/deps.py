#!/usr/bin/env python3
"""`make deps`, interrupted anywhere, leaves the machine as it was; what comes later is built with. `deps.py ./picklock`."""
import os
import signal
import subprocess
import time

from common import ROOT, Command, main

APT = "#!/bin/sh\necho ran >>LOG\n[ -x POLICY ] && { POLICY redis-server start; echo policy $? >>LOG; }\nexec sleep WAIT\n"

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Deps(Command):
    def start(self, wait):
        self.policy = self.folder / "policy-rc.d"
        self.log = self.folder / "log"
        for name, text in (("apt-get", APT), ("dpkg-query", "#!/bin/sh\nexit 1\n"), ("id", "#!/bin/sh\necho 0\n")):
            path = self.write(name, text.replace("POLICY", str(self.policy)).replace("LOG", str(self.log)).replace("WAIT", wait))
            path.chmod(0o755)
        (self.folder / "tmp").mkdir()
        # A shell cannot trap what its parent left ignored, as a job in the background or under nohup has it.
        return subprocess.Popen([ROOT / "tools" / "deps.sh", "nothing-like-it"], start_new_session=True,
                                preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in SIGNALS],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                env={"PATH": f"{self.folder}:/usr/bin:/bin", "PICKLOCK_POLICY": str(self.policy),
                                     "TMPDIR": str(self.folder / "tmp")})

    def wait_for_apt(self):
        end = time.monotonic() + 20
        while time.monotonic() < end and not (self.log.exists() and "policy" in self.log.read_text()):
            time.sleep(0.02)
        self.assertIn("policy 101", self.log.read_text())

    def test_no_server_is_started_meanwhile_and_nothing_stays(self):
        process = self.start("0")
        self.assertEqual(process.wait(timeout=20), 0)
        self.assertIn("policy 101", self.log.read_text())
        self.assertFalse(self.policy.exists())
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def test_a_signal_leaves_nothing(self):
        for number in SIGNALS:
            with self.subTest(number=number):
                process = self.start("30") if not (self.folder / "tmp").exists() else self.again()
                self.wait_for_apt()
                os.killpg(process.pid, number)
                self.assertNotEqual(process.wait(timeout=20), 0)
                self.assertFalse(self.policy.exists())
                self.assertEqual(list((self.folder / "tmp").iterdir()), [])

    def again(self):
        self.log.unlink()
        (self.folder / "tmp").rmdir()
        return self.start("30")

    def test_a_policy_that_outlived_a_kill_9_forbids_nothing_and_goes(self):
        process = self.start("30")
        self.wait_for_apt()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.assertTrue(self.policy.exists())
        self.assertEqual(subprocess.run([self.policy, "redis-server", "start"]).returncode, 0)
        self.assertFalse(self.policy.exists())

    def test_a_policy_of_the_machines_own_stays(self):
        self.write("policy-rc.d", "#!/bin/sh\nexit 101\n").chmod(0o755)
        process = self.start("0")
        self.assertEqual(process.wait(timeout=20), 0)
        self.assertEqual(self.policy.read_text(), "#!/bin/sh\nexit 101\n")


class Headers(Command):
    """`make demo` needs fewer packages than `make test`: what was built without a header is built again when it has come."""

    def test_what_asks_for_a_header_is_built_again_when_one_has_come(self):
        name = self.folder / "servers/sql/real/connect.o"
        environment = {word: value for word, value in os.environ.items() if not word.startswith(("MAKE", "MFLAGS"))}

        def build():
            subprocess.run(["make", "--no-print-directory", f"BUILD={self.folder}", str(name)], cwd=ROOT, env=environment, check=True,
                           stdout=subprocess.DEVNULL)
            return name.stat().st_mtime_ns

        first = build()
        self.assertEqual(build(), first)
        known = self.folder / "optional"
        known.write_text(known.read_text().replace("libpq-fe.h\n", "") + "not-here.h\n")     # as it was before
        second = build()
        self.assertGreater(second, first)
        self.assertEqual(build(), second)


if __name__ == "__main__":
    main()
