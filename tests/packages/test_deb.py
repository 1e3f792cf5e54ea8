"""The Debian packages: built twice, looked into, installed in an empty system, used and purged there.

The empty system is made by debootstrap from the mirror that this machine uses, once, and kept as build/empty.tar.
"""
import filecmp
import functools
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

from test_library import ROOT, run

VERSION = re.search(r'PICKLOCK_VERSION "(.*)"', (ROOT / "base" / "version.h").read_text())[1]
NAMES = ["liblockcore-dev", "liblockcore0", "picklock"]

# Where apt, dpkg and the linker keep notes of their own.
NOTES = re.compile(r"^(var/(cache|log|lib/apt|lib/dpkg)|etc/ld\.so\.cache|tmp|root|proc|sys|dev|run)(/|$)")

USE_COMMAND = """
set -eux
cd /tmp
picklock --version
picklock doctor
picklock run alone pause-after-granted --world sim,real --keep always
picklock show picklock-out/latest || [ $? -eq 1 ]
mkdir first
cd first
cat > mine.yaml <<'END'
version: 1
name: mine
lock: {algorithm: redlock, ttl: 1s}
clients: {count: 2, sections: 3, hold: 5ms}
duration: 5s
expect: {exclusion: pass}
END
picklock lint mine.yaml
picklock run mine.yaml
zcat /usr/share/man/man1/picklock.1.gz | grep -q '^.Dt PICKLOCK 1'
test -r /usr/share/picklock/picklock.schema.json
cd /
rm -r /tmp/first /tmp/picklock-out
"""

USE_LIBRARY = """
set -eux
mkdir /tmp/use
cd /tmp/use
for i in 1 2 3; do redis-server --port 0 --unixsocket /tmp/use/$i --daemonize yes --save '' --pidfile /tmp/use/$i.pid; done
cp /usr/share/doc/liblockcore-dev/examples/guard_file.c .
cc -Wall -Werror -o guard guard_file.c $(pkg-config --cflags --libs lockcore)
cc -Wall -Werror -o guard-static guard_file.c $(pkg-config --cflags lockcore) -l:liblockcore.a -lhiredis -luv
ldd guard | grep liblockcore.so.0
./guard counter $PWD/1 $PWD/2 $PWD/3
./guard-static counter $PWD/1 $PWD/2 $PWD/3
[ "$(cat counter)" = 2 ]
for i in 1 2 3; do kill $(cat $i.pid); done
cd /
rm -r /tmp/use
"""


def files_of(package):
    """The files of a package, without its folders, which others may have as well."""
    return {line.split(None, 5)[5].split(" -> ")[0].removeprefix("./")
            for line in run("dpkg-deb", "-c", package).splitlines() if not line.startswith("d")}


@functools.cache
def packages():
    """The folder of the packages, which are built once for all that looks at them."""
    run("make", "--no-print-directory", "deb", cwd=ROOT)
    return ROOT / "build" / "deb"


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.built = packages()

    def package(self, name):
        return next(self.built.glob(f"{name}_{VERSION}_*.deb"))

    def test_each_package_holds_its_own(self):
        picklock, library, development = (files_of(self.package(name)) for name in ("picklock", "liblockcore0", "liblockcore-dev"))
        self.assertTrue({"usr/bin/picklock", "usr/libexec/picklock/picklock-clock.so", "usr/share/man/man5/picklock-history.5.gz",
                         "usr/share/picklock/picklock.schema.json", "usr/share/picklock/scenarios/alone.yaml",
                         "usr/share/doc/picklock/COMMAND.md", "usr/share/zsh/vendor-completions/_picklock"} <= picklock)
        self.assertEqual(len([name for name in library if "/liblockcore.so.0" in name]), 2)
        self.assertTrue({"usr/include/lockcore/lockcore.h", "usr/share/man/man3/lockcore.3.gz",
                         "usr/share/doc/liblockcore-dev/examples/guard_file.c"} <= development)
        self.assertEqual(len(picklock | library | development), len(picklock) + len(library) + len(development))

    def test_what_is_needed_to_build_is_what_the_makefile_names(self):
        makefile = (ROOT / "Makefile").read_text().replace("\\\n", " ")
        named = set(re.search(r"^PACKAGES_BUILD *:=(.*)$", makefile, re.M)[1].split())
        control = (ROOT / "debian" / "control").read_text()
        needed = set(re.findall(r"[a-z][a-z0-9.+-]+", re.search(r"^Build-Depends:((?:.*\n )*.*)$", control, re.M)[1]))
        always = {"gcc", "libc6-dev", "make"}
        self.assertEqual(needed - {"debhelper-compat"}, named - always - {"redis-server"})

    def test_the_same_bytes_from_another_folder_mask_and_zone(self):
        with tempfile.TemporaryDirectory(prefix="picklock-again-") as folder:
            run("sh", "-c", 'umask 027; exec tools/deb.sh "$1"', "sh", f"{folder}/another/place", cwd=ROOT,
                env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "DEB_BUILD_OPTIONS": "nocheck parallel=4"})
            names = sorted(path.name for path in self.built.glob("*.deb"))
            self.assertGreaterEqual(len(names), 3)
            for name in names:
                self.assertTrue(filecmp.cmp(self.built / name, pathlib.Path(folder, "another/place", name), shallow=False),
                                f"{name} differs")


class Tarball(unittest.TestCase):
    def test_it_builds_without_git_and_makes_itself_again(self):
        run("make", "--no-print-directory", "dist", cwd=ROOT)
        tarball = ROOT / "build" / f"picklock-{VERSION}.tar.gz"
        with tempfile.TemporaryDirectory(prefix="picklock a path ") as folder:
            with tarfile.open(tarball) as archive:
                archive.extractall(folder)
            tree = pathlib.Path(folder, f"picklock-{VERSION}")
            self.assertFalse((tree / ".git").exists())
            environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
            environment["GIT_CEILING_DIRECTORIES"] = folder
            run("make", "-j2", "--no-print-directory", cwd=tree, env=environment)
            self.assertIn("as expected", run(tree / "picklock", "run", "scenarios/alone.yaml", cwd=tree))
            run("make", "--no-print-directory", "tidy", cwd=tree, env=environment)
            run("make", "--no-print-directory", "dist", cwd=tree, env=environment)
            self.assertTrue(filecmp.cmp(tarball, tree / "build" / tarball.name, shallow=False))


def mirror():
    """The suite and the mirror of this machine's own sources."""
    suite = run("sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME").strip()
    for path in [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]:
        text = path.read_text() if path.exists() else ""
        found = re.search(rf"^URIs: *(\S+)\nSuites: *{suite}\b|^deb (?:\[.*\] )?(\S+) {suite} ", text, re.M)
        if found:
            return suite, found[1] or found[2]
    return suite, None


class EmptySystem(unittest.TestCase):
    """Debian with nothing but what is essential, a redis-server and a compiler."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or shutil.which("debootstrap") is None:
            raise unittest.SkipTest("making an empty system takes root and debootstrap")
        suite, uri = mirror()
        if uri is None:
            raise unittest.SkipTest("this machine's sources name no Debian mirror")
        if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
            raise unittest.SkipTest("this machine lets nobody make a mount namespace")
        cls.built = packages()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="picklock-empty-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.system = cls.folder / "system"
        kept = ROOT / "build" / "empty.tar"
        if not kept.exists():
            made = subprocess.run(["debootstrap", "--variant=minbase", f"--include={os.environ['PACKAGES_EMPTY'].replace(' ', ',')}",
                                   suite, cls.system, uri], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if made.returncode != 0:
                raise unittest.SkipTest(f"debootstrap could not make an empty system: {made.stdout.splitlines()[-1:]}")
            run("tar", "-C", cls.system, "-cf", f"{kept}.part", ".")
            os.rename(f"{kept}.part", kept)
            shutil.rmtree(cls.system)
        cls.system.mkdir()
        run("tar", "-C", cls.system, "-xf", kept)
        shutil.copy("/etc/resolv.conf", cls.system / "etc" / "resolv.conf")
        (cls.system / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (cls.system / "usr/sbin/policy-rc.d").chmod(0o755)
        cls.inside("apt-get update -qq")

    @classmethod
    def inside(cls, script):
        """Run a script in the system, with processes and a /proc of its own that end with it."""
        return run("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c",
                   'mount -t proc proc "$1/proc" && exec chroot "$1" /bin/sh -c "$2"', "sh", cls.system, script,
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
                        "HOME": "/root"})

    def state(self):
        """Every file that is nobody's note, with its size and mode; and every package."""
        files = {}
        for folder, folders, names in os.walk(self.system):
            for name in folders + names:
                path = pathlib.Path(folder, name)
                relative = str(path.relative_to(self.system))
                if not NOTES.match(relative):
                    info = path.lstat()
                    files[relative] = (info.st_mode, 0 if path.is_dir() else info.st_size)
        return files, self.inside("dpkg-query -W -f '${Package} ${Version} ${Status}\n'")

    def install(self, *names):
        for name in names:
            shutil.copy(next(self.built.glob(f"{name}_{VERSION}_*.deb")), self.system / "tmp")
        self.inside("apt-get install -y --no-install-recommends " + " ".join(f"/tmp/{name}_*.deb" for name in names))

    def test_installed_used_and_purged_it_leaves_the_system_as_it_was(self):
        before = self.state()
        self.install("picklock")
        said = self.inside(USE_COMMAND)
        self.assertIn("4 as expected, 0 not as expected, 0 unknown, 0 errors; 4 runs", said)
        self.assertIn("1 as expected, 0 not as expected, 0 unknown, 0 errors; 1 runs", said)
        self.install("liblockcore0", "liblockcore-dev")
        self.inside(USE_LIBRARY)
        self.inside("apt-get purge -y picklock liblockcore0 liblockcore-dev && apt-get autoremove -y --purge")
        after = self.state()
        self.assertEqual(before[1], after[1])
        self.assertEqual({name: after[0][name] for name in after[0] if before[0].get(name) != after[0][name]}, {})
        self.assertEqual(set(before[0]) - set(after[0]), set())
