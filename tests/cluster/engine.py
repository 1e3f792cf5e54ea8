"""A container engine of our own: its daemon, its socket, its base image; and the machine's network as it was before."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE = "debian:bookworm-slim"
# Debian's own: a newer client elsewhere in the path may want parts that are not here.
DOCKER = "/usr/bin/docker"
DAEMON = "/usr/sbin/dockerd"


class Unable(Exception):
    """No engine can run here: why."""


def run(*words, check=True, **more):
    done = subprocess.run([str(word) for word in words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout if check else done


def mirror():
    """Suite and address of the archive that this machine's packages come from."""
    sources = pathlib.Path("/etc/apt")
    for file in [sources / "sources.list", *sorted(sources.glob("sources.list.d/*"))]:
        for line in file.read_text().splitlines() if file.is_file() else []:
            found = re.match(r"(?:deb\s+(?:\[.*?\]\s+)?|URIs:\s*)(\S+)", line)
            if found and "debian" in found[1] and "security" not in found[1]:
                return "bookworm", found[1]
    raise Unable("this machine's sources name no Debian mirror")


class Network:
    """What a daemon changes on the machine and leaves behind: remembered, and put back."""

    def __init__(self):
        self.forward = pathlib.Path("/proc/sys/net/ipv4/ip_forward")
        self.was_forward = self.forward.read_text()
        self.had_bridge = pathlib.Path("/sys/class/net/docker0").exists()
        self.rules = self.save()

    def save(self):
        done = run("iptables-save", check=False)
        if done.returncode != 0:
            raise Unable(f"the packet filter cannot be read: {done.stdout.strip()}")
        return done.stdout

    def restore(self):
        subprocess.run(["iptables-restore"], input=self.rules or "*filter\nCOMMIT\n", text=True, check=True)
        for table in ("nat", "filter", "raw", "mangle"):
            if f"*{table}" not in self.rules:  # it was not there at all
                run("iptables", "-t", table, "-F", check=False)
                run("iptables", "-t", table, "-X", check=False)
                if table == "filter":
                    run("iptables", "-P", "FORWARD", "ACCEPT", check=False)
        if not self.had_bridge:
            run("ip", "link", "delete", "docker0", check=False)
        self.forward.write_text(self.was_forward)


class Engine:
    def __init__(self):
        for program in (DOCKER, DAEMON, "iptables-save", "debootstrap"):
            if shutil.which(program) is None:
                raise Unable(f"{program} is missing (apt-get install --no-install-recommends docker.io docker-compose debootstrap)")
        if os.geteuid() != 0:
            raise Unable("a daemon of our own takes root")
        self.compose = self.find_compose()
        self.network = Network()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="picklock-engine-"))
        self.socket = f"unix://{self.folder}/sock"
        self.environment = {**os.environ, "DOCKER_HOST": self.socket, "DOCKER_BUILDKIT": "0", "COMPOSE_DOCKER_CLI_BUILD": "0",
                            "COMPOSE_PROJECT_NAME": "picklock-test", "COMPOSE_INTERACTIVE_NO_CLI": "1"}
        self.log = open(self.folder / "log", "w+")
        self.daemon = subprocess.Popen([DAEMON, "--data-root", self.folder / "data", "--exec-root", self.folder / "exec",
                                        "--pidfile", self.folder / "pid", "-H", self.socket], stdout=self.log, stderr=self.log)
        for _ in range(600):
            if subprocess.run([DOCKER, "info"], env=self.environment, capture_output=True).returncode == 0:
                return
            if self.daemon.poll() is not None:
                break
            time.sleep(0.1)
        self.log.seek(0)
        said = self.log.read().splitlines()[-1:]
        self.stop()
        raise Unable(f"the daemon does not run: {said}")

    @staticmethod
    def find_compose():
        """Debian has 1.29; COMPOSE=PATH tries another one."""
        for words in ([os.environ.get("COMPOSE", "")], ["/usr/bin/docker-compose"], ["docker-compose"]):
            if words[0] and shutil.which(words[0]):
                return words
        raise Unable("docker-compose is missing (apt-get install docker-compose)")

    def docker(self, *words, **more):
        return run(DOCKER, *words, env=self.environment, **more)

    def base(self):
        """The base image that the Dockerfile names, made of the distribution's packages; kept in build/."""
        kept = ROOT / "build" / "base.tar"
        if not kept.exists():
            suite, uri = mirror()
            system = self.folder / "base"
            made = run("debootstrap", "--variant=minbase", "--include=ca-certificates", suite, system, uri, check=False)
            if made.returncode != 0:
                raise Unable(f"debootstrap could not make a base image: {made.stdout.splitlines()[-1:]}")
            for waste in ("var/lib/apt/lists", "var/cache", "usr/share/man", "usr/share/locale", "usr/share/info"):
                shutil.rmtree(system / waste, ignore_errors=True)
                (system / waste).mkdir(parents=True)
            for path in (system / "usr/share/doc").glob("*/*"):
                if path.name != "copyright" and not path.is_dir():
                    path.unlink()
            kept.parent.mkdir(exist_ok=True)
            run("tar", "-C", system, "-cf", f"{kept}.part", ".")
            os.rename(f"{kept}.part", kept)
            shutil.rmtree(system)
        self.docker("import", "--change", 'CMD ["bash"]', kept, BASE)

    def stop(self):
        if self.daemon.poll() is None:
            self.daemon.send_signal(signal.SIGTERM)
            try:
                self.daemon.wait(60)
            except subprocess.TimeoutExpired:
                self.daemon.kill()
                self.daemon.wait()
        self.log.close()
        self.network.restore()
        with open("/proc/self/mounts") as mounts:
            ours = [line.split()[1] for line in mounts if str(self.folder) in line]
        for mount in reversed(ours):
            run("umount", "-l", mount, check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
