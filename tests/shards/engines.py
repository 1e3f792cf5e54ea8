#!/usr/bin/env python3
"""Shards run by the engines of deploy/: GNU parallel, a Slurm of one machine, the manifest for Kubernetes.

`engines.py ./picklock`, from `make shard-test`. What cannot run here says so and is skipped.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

PICKLOCK = os.path.abspath(sys.argv.pop(1) if len(sys.argv) > 1 else "./picklock")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
SCENARIOS = ROOT / "scenarios"
SEARCH = [*(SCENARIOS / "random" / f"{name}.yaml" for name in ("anything", "fenced", "network", "pauses")), SCENARIOS / "alone.yaml", "--seeds", "1..60"]

# A picklock that is killed in the middle of a shard, as often as KILLS says: once its file has grown.
FRAIL = """\
#!/bin/sh
case " $* " in
*" --shard $FRAIL_SHARD "*) ;;
*) exec "$REAL" "$@" ;;
esac
kills=$(cat "$FRAIL_COUNT" 2>/dev/null || echo 0)
[ "$kills" -lt "$FRAIL_KILLS" ] || exec "$REAL" "$@"
echo $((kills + 1)) >"$FRAIL_COUNT"
"$REAL" run "$FRAIL_LONG" --seeds 1..10000000 --shard "$FRAIL_SHARD" --out "$FRAIL_OUT" --keep never -q &
part="$FRAIL_OUT/shard-$(echo "$FRAIL_SHARD" | sed 's|/|-of-|').jsonl.part"
until [ "$(stat -c %s "$part" 2>/dev/null || echo 0)" -gt 100000 ]; do :; done
kill -9 $!
wait $!
exit 137
"""


class Engine(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="picklock-engine-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {**os.environ, "PICKLOCK": PICKLOCK}

    def run_here(self, *command, code=0, **options):
        done = subprocess.run([str(word) for word in command], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300, env=options.pop("env", self.environment), **options)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def frail(self, shard, kills):
        """Shards by a picklock that is killed."""
        program = self.folder / "frail-picklock"
        program.write_text(FRAIL)
        program.chmod(0o755)
        self.environment.update(PICKLOCK=str(program), REAL=PICKLOCK, FRAIL_SHARD=shard, FRAIL_KILLS=str(kills),
                                FRAIL_COUNT=str(self.folder / "kills"), FRAIL_OUT=str(self.folder / "out"),
                                FRAIL_LONG=str(SCENARIOS / "random"))

    def one_run(self):
        return self.run_here(PICKLOCK, "run", *SEARCH, "--json", "--keep", "never").stdout

    def merged(self):
        return self.run_here(PICKLOCK, "merge", "out", "--json", "--keep", "never").stdout

    def broken(self):
        text = (SCENARIOS / "wrong" / "no-recheck.yaml").read_text()
        path = self.folder / "no-recheck.yaml"
        path.write_text(re.sub(r"^expect:.*", "expect: {section_exclusion: pass}\n", text, flags=re.S | re.M))
        return path


@unittest.skipUnless(shutil.which("parallel"), "GNU parallel is missing")
class Parallel(Engine):
    def jobs(self):
        return [line.split("\t") for line in (self.folder / "out" / "joblog").read_text().splitlines()[1:]]

    def test_a_search_is_one_run(self):
        done = self.run_here(DEPLOY / "parallel.sh", 8, "out", *SEARCH)
        self.assertIn("300 runs", done.stdout)
        self.assertEqual(self.merged(), self.one_run())
        self.run_here(DEPLOY / "parallel.sh", 8, "out", *SEARCH)
        self.assertEqual(len(self.jobs()), 8, "what was done is not done again")

    def test_a_violation_is_a_result_and_not_tried_again(self):
        done = self.run_here(DEPLOY / "parallel.sh", 4, "out", self.broken(), "--seeds", "1..20", code=1)
        self.assertIn("1 not as expected", done.stdout)
        self.assertEqual(sorted((job[0], job[6]) for job in self.jobs()), [(str(k), "0") for k in range(1, 5)])
        self.assertEqual(len(list((self.folder / "out" / "merged" / "no-recheck").glob("*/sim/history.jsonl"))),
                         len(set(re.findall(r"story: \S+ show (out/merged/\S+)", done.stdout))))

    def test_a_killed_shard_is_tried_again(self):
        self.frail("3/8", 2)
        self.run_here(DEPLOY / "parallel.sh", 8, "out", *SEARCH)
        self.assertEqual((self.folder / "kills").read_text(), "2\n")
        self.assertEqual(self.merged(), self.one_run())

    def test_a_shard_that_dies_too_often_is_named_and_the_same_command_does_it_later(self):
        self.frail("5/8", 3)
        done = self.run_here(DEPLOY / "parallel.sh", 8, "out", *SEARCH, code=3)
        self.assertIn("shard 5/8", done.stderr)
        self.run_here(DEPLOY / "parallel.sh", 8, "out", *SEARCH)
        self.assertEqual(self.merged(), self.one_run())


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


SLURM = """\
ClusterName=picklock
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
JobRequeue=1
RequeueExit=3,130,137
ReturnToService=2
NodeName=localhost CPUs=2 RealMemory=1000
PartitionName=all Nodes=localhost Default=YES State=UP
"""


@unittest.skipUnless(shutil.which("slurmctld") and shutil.which("munged") and os.geteuid() == 0,
                     "a Slurm of one machine takes root and the packages slurm-wlm and munge")
class Slurm(Engine):
    """Slurm with all it has below one folder, on ports that the kernel chose."""

    def setUp(self):
        super().setUp()
        place = self.folder / "slurm"
        for name in ("state", "spool"):
            (place / name).mkdir(parents=True)
        (place / "munge.key").write_bytes(os.urandom(1024))
        (place / "munge.key").chmod(0o400)
        place.chmod(0o755)
        self.folder.chmod(0o755)
        controller, daemon = free_ports(2)
        (place / "slurm.conf").write_text(SLURM.format(folder=place, controller=controller, daemon=daemon))
        self.environment["SLURM_CONF"] = str(place / "slurm.conf")
        self.daemons = []
        self.addCleanup(self.stop)
        self.start("munged", "--foreground", f"--socket={place}/munge.socket", f"--key-file={place}/munge.key",
                   f"--log-file={place}/munged.log", f"--pid-file={place}/munged.pid", f"--seed-file={place}/munged.seed",
                   "--force")
        self.wait_for(lambda: (place / "munge.socket").exists(), "munged never came up")
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D", "-N", "localhost")
        self.wait_for(lambda: "idle" in self.run_here("sinfo", "-h", "-o", "%T", code=None).stdout, "no node is idle")

    def start(self, *command):
        log = open(self.folder / f"{command[0]}.out", "w")
        self.addCleanup(log.close)
        self.daemons.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=subprocess.STDOUT,
                                             stdin=subprocess.DEVNULL, start_new_session=True))

    def stop(self):
        for daemon in reversed(self.daemons):
            try:
                os.killpg(daemon.pid, signal.SIGTERM)
                daemon.wait(timeout=30)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(daemon.pid, signal.SIGKILL)
                daemon.wait()

    def wait_for(self, condition, otherwise, seconds=180):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, otherwise)
            time.sleep(0.2)

    def array(self, shards, *search, **variables):
        done = self.run_here(DEPLOY / "slurm.sh", shards, self.folder / "out", *search, env={**self.environment, **variables})
        return done.stdout.split()

    def states(self, job):
        said = self.run_here("squeue", "-h", "-r", "-j", job, "-o", "%K %T %r", code=None).stdout
        return {line.split()[0]: line.split()[1] for line in said.splitlines()}

    def result(self):
        code = self.folder / "out" / "exit-code"
        self.wait_for(lambda: code.exists() and code.read_text() != "", "the merge never ended")
        return int(code.read_text())

    def hurry(self, job):
        """A requeued task waits two minutes; not in a test."""
        for task, state in self.states(job).items():
            if state == "PENDING":
                self.run_here("scontrol", "update", f"jobid={job}_{task}", "StartTime=now", code=None)

    def test_a_shard_that_is_killed_is_requeued_and_the_search_is_one_run(self):
        self.frail("3/6", 1)
        job, _ = self.array(6, *SEARCH)
        self.wait_for(lambda: (self.folder / "kills").exists() and not self.hurry(job) and not self.states(job),
                      "the array never ended")
        self.assertEqual(self.result(), 0, (self.folder / "out" / "logs" / "merge.log").read_text())
        self.assertEqual((self.folder / "kills").read_text(), "1\n")
        self.assertEqual(self.merged(), self.one_run())

    def test_a_requeued_shard_leaves_the_same_and_a_violation_is_a_result(self):
        path = self.broken()
        job, _ = self.array(4, path, "--seeds", "1..20")
        self.assertEqual(self.result(), 1)
        self.assertIn("1 not as expected", (self.folder / "out" / "result.txt").read_text())
        before = {one.name: one.read_bytes() for one in (self.folder / "out").glob("shard-*.jsonl")}
        (self.folder / "out" / "shard-2-of-4.jsonl").unlink()
        (self.folder / "out" / "exit-code").unlink()
        self.array(4, path, "--seeds", "1..20", ARRAY="2")
        self.assertEqual(self.result(), 1)
        self.assertEqual({one.name: one.read_bytes() for one in (self.folder / "out").glob("shard-*.jsonl")}, before)


class Kubernetes(Engine):
    MANIFEST = DEPLOY / "kubernetes.yaml"

    def test_the_manifest_is_one(self):
        checker = os.environ.get("KUBERNETES_VALIDATE") or shutil.which("kubernetes-validate")
        if not checker or not os.path.exists(checker):
            self.skipTest("kubernetes-validate is missing (PyPI)")
        self.run_here(checker, "--strict", self.MANIFEST)
        wrong = self.folder / "wrong.yaml"
        wrong.write_text(self.MANIFEST.read_text().replace("backoffLimitPerIndex", "backoffLimitPerIndx"))
        self.assertNotEqual(self.run_here(checker, "--strict", wrong, code=None).returncode, 0)

    def command(self):
        """What a pod runs, as the manifest says it."""
        text = self.MANIFEST.read_text()
        script = re.search(r"args:\n +- >-\n((?: {14}.*\n)+)", text)[1]
        return " ".join(line.strip() for line in script.splitlines())

    def test_its_pods_do_a_whole_search(self):
        script = self.command().replace("picklock run", f"{PICKLOCK} run").replace("/results", "out")
        self.assertIn("--shard", script)
        script = script.replace("random", " ".join(map(str, SEARCH[:5]))).replace("1..1000000000", "1..60").replace("--lines unmet ", "")
        for index in range(5):
            self.run_here("sh", "-c", script, env={**self.environment, "JOB_COMPLETION_INDEX": str(index), "SHARDS": "5"})
        self.assertEqual(self.merged(), self.one_run())

    def test_its_codes(self):
        script = self.command()
        for told, code in ((0, 0), (1, 0), (2, 0), (3, 3), (4, 4), (130, 130), (137, 137)):
            self.run_here("sh", "-c", f"picklock() {{ return {told}; }}\n{script}", code=code,
                          env={**self.environment, "JOB_COMPLETION_INDEX": "0", "SHARDS": "5"})


if __name__ == "__main__":
    outcome = unittest.main(verbosity=1, exit=False).result
    failed = len(outcome.failures) + len(outcome.errors)
    for test, reason in outcome.skipped:
        print(f"skipped: {test}: {reason}")
    skipped = f", {len(outcome.skipped)} skipped" if outcome.skipped else ""
    print(f"{outcome.testsRun - failed - len(outcome.skipped)} passed, {failed} failed{skipped}")
    sys.exit(1 if failed or not outcome.testsRun else 0)
