#!/usr/bin/env python3
"""How runs end: signals, kills, a machine that fails. `endings.py ./picklock`."""
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time

from common import GOOD, PICKLOCK, ROOT, Command, main


def leftovers(marker):
    """Processes whose environment names this folder."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    environment = file.read()
                with open(f"/proc/{entry}/stat") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if marker.encode() in environment and state != "Z":
                found.append(int(entry))
    return found


def servers_of(folder):
    return [line for line in map(command_line, leftovers(str(folder))) if "--port" in line]


def asked(port):
    """What a server answers to somebody who comes by; None: it does not listen yet."""
    try:
        with socket.create_connection(("127.0.0.1", port), 10) as stranger:
            stranger.sendall(b"GET r0\r\n")
            return stranger.recv(100)
    except ConnectionRefusedError:
        return None


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            return file.read().rstrip("\0").split("\0")
    except OSError:
        return []


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    return None


LONG = GOOD.replace("sections: 2", "sections: 1000").replace("hold: 1ms", "hold: 50ms").replace(
    "duration: 20s", "duration: 60s")


class Endings(Command):
    def start(self, *more, processes=6):
        path = self.good("long", LONG)
        process = subprocess.Popen([PICKLOCK, "run", path, "--world", "real", *more], cwd=self.folder,
                                   env={**os.environ, "PICKLOCK_TEST": str(self.folder)},
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.assertTrue(wait_for(lambda: len(leftovers(str(self.folder))) >= processes),
                        "it never started")
        return process

    def test_ctrl_c_is_130_and_leaves_nothing(self):
        process = self.start()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertIn("interrupted after 0 runs", process.stderr.read())
        self.assertEqual(process.stdout.read(), "", "a run that was cut off came to nothing")
        self.assertEqual(leftovers(str(self.folder)), [])
        self.assertFalse((self.folder / "picklock-out" / ".running").exists())

    def test_real_runs_that_wait_are_more_at_once_than_cores(self):
        cores = os.sysconf("SC_NPROCESSORS_ONLN")
        process = self.start("--repeat", str(cores + 1), "--quiet")

        def runs():
            with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
                return len(file.read().split())
        self.assertTrue(wait_for(lambda: runs() == cores + 1), runs())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)
        self.assertEqual(leftovers(str(self.folder)), [])

    def test_ctrl_c_in_its_first_moments_leaves_nothing(self):
        for processes in (2, 3, 4, 5) * 3:
            process = self.start(processes=processes)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=20), 130)
            self.assertEqual(leftovers(str(self.folder)), [])
            self.assertFalse((self.folder / "picklock-out" / ".running").exists())

    def test_nothing_outlives_a_kill_9_of_picklock(self):
        process = self.start()
        process.kill()
        process.wait()
        self.assertTrue(wait_for(lambda: not leftovers(str(self.folder)), 10), leftovers(str(self.folder)))
        self.assertEqual(self.picklock("clean").returncode, 0)
        self.assertFalse((self.folder / "picklock-out" / ".running").exists())

    def test_nothing_outlives_a_kill_9_of_the_process_of_the_run(self):
        process = self.start()
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            child = int(file.read().split()[0])
        os.kill(child, signal.SIGKILL)
        self.assertEqual(process.wait(timeout=20), 3, process.stdout.read())
        self.assertTrue(wait_for(lambda: not leftovers(str(self.folder)), 10), leftovers(str(self.folder)))

    def test_programs_that_keep_the_machine_busy_end_with_what_they_stand_beside(self):
        environment = {**os.environ, "FOLDER": str(self.folder)}
        busy = subprocess.Popen([ROOT / "tools" / "busy.sh", "3", "sleep", "60"], env=environment, start_new_session=True)
        self.assertTrue(wait_for(lambda: len(leftovers(str(self.folder))) == 5))  # itself, three of them, and sleep
        os.kill(busy.pid, signal.SIGKILL)
        busy.wait()
        ended = wait_for(lambda: len(leftovers(str(self.folder))) == 1)
        left = {pid: command_line(pid)[0] for pid in leftovers(str(self.folder))}
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(ended, left)
        self.assertEqual(list(left.values()), ["sleep"])

    def test_its_servers_answer_nobody_else(self):
        process = self.start("--keep", "always")
        servers = wait_for(lambda: servers_of(self.folder) if len(servers_of(self.folder)) == 3 else None)
        for line in servers:
            conf = line[1]
            self.assertEqual(os.stat(conf).st_mode & 0o777, 0o600)
            with open(conf) as file:
                password = file.readline().split()[1]
            self.assertGreaterEqual(len(password), 32)
            self.assertNotIn(password, str([command_line(pid) for pid in leftovers(str(self.folder))]))
            answer = wait_for(lambda: asked(int(line[line.index("--port") + 1])))
            self.assertRegex(answer, b"^-NOAUTH")
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        kept = b"".join(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())
        self.assertNotIn(password.encode(), kept)

    def test_two_at_once_do_not_meet(self):
        path = self.good("one")
        both = [subprocess.Popen([PICKLOCK, "run", path, "--world", "real", "--keep", "always"], cwd=self.folder,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
        for process in both:
            output, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, output)

    def environment_fails(self, *words, **options):
        """One sentence that holds all these words, exit 3, and nothing left running."""
        marker = {**os.environ, **options.pop("env", {}), "PICKLOCK_TEST": str(self.folder)}
        result = self.picklock("run", self.good("one"), "--world", "real", env=marker, **options)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        lines = [line for line in result.stdout.splitlines() if all(word in line for word in words)]
        self.assertEqual(len(lines), 1, result.stdout + result.stderr)
        self.assertNotIn("fail (", result.stdout)
        self.assertEqual(leftovers(str(self.folder)), [])
        self.assertFalse((self.folder / "picklock-out" / ".running").exists())
        return result

    def server(self, program):
        """A redis-server of our own, in front of the real one."""
        path = self.write("redis-server", program.replace("REAL", shutil.which("redis-server")))
        path.chmod(0o755)
        return {"PATH": f"{self.folder}:{os.environ['PATH']}"}

    def test_a_taken_port_is_one_sentence_and_leaves_nothing(self):
        # picklock asks the kernel for free ports, so the thief must come between the two: the
        # server's program takes the port that it was given, and then becomes the server.
        thief = self.server("#!" + sys.executable + """
import os, socket, sys
thief = socket.socket()
thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
thief.bind(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])))
thief.listen()
thief.set_inheritable(True)
os.execv("REAL", sys.argv)
""")
        result = self.environment_fails("redis-server of node 1", "Address already in use", env=thief)
        logs = self.folder / "picklock-out" / "one" / "1" / "real"
        self.assertIn(f"logs:  {logs.relative_to(self.folder)}", result.stdout)
        self.assertIn("Address already in use", (logs / "node-1.log").read_text())

    def test_a_server_that_will_not_start_is_one_sentence(self):
        refuses = self.server("#!/bin/sh\necho no licence for this machine\nexit 7\n")
        self.environment_fails("redis-server of node 1", "exit code 7", "no licence for this machine",
                               env=refuses)

    def test_too_few_open_files_are_told_before_a_lock_is_blamed(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
        self.environment_fails("open files", "may have 48", "ulimit -Hn", preexec_fn=limit)
        self.assertFalse((self.folder / "picklock-out" / "one").exists())

    def test_a_missing_redis_server_is_an_environment_error(self):
        result = self.picklock("run", self.good("one"), "--world", "real",
                               env={**os.environ, "PATH": str(self.folder)})
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertIn("redis-server", result.stdout + result.stderr)


if __name__ == "__main__":
    main()
