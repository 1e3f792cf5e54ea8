"""The library as a stranger meets it: its names, its files, where they go, and that all goes again."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# A program with functions of its own under names that are common, and that uses the step alone.
STRANGER = """\
#include <lockcore/lock.h>
void text_add(void) {}
void arena_take(void) {}
void assert_failed(void) {}
int round_read = 1;
int main(void)
{
    struct lock_config config = {.algorithm = 0, .node_count = 1, .ttl_ns = 1000000000,
                                 .node_timeout_ns = 1000000, .drift_ppm = 10000};
    struct lock lock;
    lock_init(&lock, &config);
    lock_assert_valid(&lock);
    text_add();
    arena_take();
    assert_failed();
    return round_read - 1;
}
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}")
    return done.stdout


def make(*words, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "MFLAGS"}
    return run("make", "--no-print-directory", *words, *[f"{name}={value}" for name, value in variables.items()],
               cwd=ROOT, env=environment)


def marked(header):
    """The functions that a header marks, and those that it declares without the mark."""
    text = re.sub(r"/\*.*?\*/", "", (ROOT / header).read_text(), flags=re.S)
    text = re.sub(r"^#.*(\\\n.*)*", "", text, flags=re.M)
    text = re.sub(r"\bstatic inline\b[^{]*\{.*?^\}", "", text, flags=re.S | re.M)
    found = re.findall(r"^(LOCKCORE_API )?([A-Za-z][\w \*]*?[\s\*])(\w+)\([^;{}]*\);", text, flags=re.M)
    return {name for mark, _, name in found if mark}, {name for mark, _, name in found if not mark}


class Library(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="picklock-library-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        make("install", DESTDIR=cls.folder / "root", PREFIX="/opt/lock", LIBDIR="/opt/lock/lib/x86_64-linux-gnu")
        cls.prefix = cls.folder / "root" / "opt" / "lock"
        cls.libraries = cls.prefix / "lib" / "x86_64-linux-gnu"

    def names(self, *nm):
        return {line.split()[-1].split("@")[0] for line in run("nm", "--defined-only", *nm).splitlines()
                if len(line.split()) == 3 and line.split()[1] in "TDBRVW"}

    def public(self):
        marks, without = set(), set()
        for header in sorted((self.prefix / "include").rglob("*.h")):
            name = header.relative_to(self.prefix / "include")
            source = {"lockcore/lockcore.h": "lockcore/drivers/lockcore.h"}.get(str(name), str(name))
            source = source.removeprefix("lockcore/") if source.startswith("lockcore/base/") else source
            a, b = marked(source)
            marks |= a
            without |= b
        return marks, without

    def test_the_shared_library_gives_what_the_public_headers_mark_and_no_more(self):
        marks, without = self.public()
        self.assertGreater(len(marks), 30)
        self.assertEqual(without, set(), "declared in a public header, but without LOCKCORE_API")
        self.assertEqual(self.names("-D", self.libraries / "liblockcore.so"), marks)

    def test_the_static_library_leaks_no_common_name(self):
        marks, _ = self.public()
        names = self.names("-g", self.libraries / "liblockcore.a")
        self.assertEqual({name for name in names if not name.startswith("lockcore_private_")}, marks)

    def test_a_program_with_common_names_of_its_own_links_the_step_without_a_driver(self):
        (self.folder / "stranger.c").write_text(STRANGER)
        run("cc", "-Wall", "-Werror", f"-I{self.prefix}/include", "-o", self.folder / "stranger",
            self.folder / "stranger.c", self.libraries / "liblockcore.a")
        run(self.folder / "stranger")
        self.assertNotIn("hiredis", run("ldd", self.folder / "stranger"))

    def test_the_example_links_with_the_static_library_too(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        words = run("pkg-config", f"--define-variable=prefix={self.prefix}", "--static", "--cflags", "--libs",
                    "lockcore", env=environment).split()
        words = [str(self.libraries / "liblockcore.a") if word == "-llockcore" else word for word in words]
        run("cc", "-Wall", "-Werror", "-o", self.folder / "guard", ROOT / "examples" / "guard_file.c", *words)
        self.assertNotIn("liblockcore", run("ldd", self.folder / "guard"))

    def test_every_public_header_stands_alone(self):
        for header in sorted((self.prefix / "include").rglob("*.h")):
            run("cc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", f"-I{self.prefix}/include",
                f"-I{self.prefix}/include/lockcore", "-x", "c", header)

    def picklock(self, *words):
        """The installed command in an empty folder."""
        with tempfile.TemporaryDirectory(prefix="picklock-empty-") as empty:
            return subprocess.run([self.prefix / "bin" / "picklock", *words], cwd=empty, text=True, capture_output=True)

    def test_the_installed_scenarios_are_found_from_anywhere(self):
        place = self.prefix / "share" / "picklock" / "scenarios"
        count = len(list(place.rglob("*.yaml")))
        table = self.picklock("run").stdout.splitlines()[-1]
        said = [int(number) for number in re.findall(r"(\d+) (?:as expected|do not apply)", table)]
        self.assertEqual(sum(said), count, table)
        for name in ("alone", "alone.yaml", "scenarios/alone.yaml"):
            done = self.picklock("lint", name)
            self.assertEqual(done.stdout, f"ok    {place}/alone.yaml\n", done.stderr)
        self.assertEqual(len(self.picklock("lint", "random").stdout.splitlines()), len(list((place / "random").iterdir())))
        nowhere = self.picklock("run", "nowhere.yaml")
        self.assertEqual(nowhere.returncode, 4)
        self.assertIn(f"nowhere.yaml: No such file or directory; expected a scenario file or a folder of them, "
                      f"here or in {self.prefix}/share/picklock", nowhere.stderr)

    def test_without_any_scenario_it_says_where_it_looked(self):
        alone = self.folder / "alone" / "bin"
        alone.mkdir(parents=True)
        shutil.copy(self.prefix / "bin" / "picklock", alone)
        done = subprocess.run([alone / "picklock", "run"], cwd=alone, text=True, capture_output=True)
        self.assertEqual(done.returncode, 4)
        self.assertIn("scenarios: No such file", done.stderr)
        self.assertIn(f"here or in {self.folder}/alone/share/picklock", done.stderr)

    def test_all_goes_again(self):
        other = self.folder / "other"
        places = {"DESTDIR": other, "PREFIX": "/usr"}
        make("install", **places)
        for name in ("bin/picklock", "libexec/picklock/picklock-clock.so", "share/picklock/picklock.schema.json",
                     "share/picklock/scenarios/random/anything.yaml", "share/doc/picklock/COMMAND.md",
                     "share/doc/picklock/examples/guard_file.c", "include/lockcore/lockcore.h",
                     "lib/pkgconfig/lockcore.pc", "lib/liblockcore.so", "lib/liblockcore.a"):
            self.assertTrue((other / "usr" / name).exists(), name)
        (other / "usr/share/doc/somebody").mkdir()
        (other / "usr/share/doc/somebody/else.txt").write_text("not ours\n")
        make("uninstall", **places)
        left = [str(path.relative_to(other)) for path in other.rglob("*") if not path.is_dir()]
        self.assertEqual(left, ["usr/share/doc/somebody/else.txt"])
        for ours in ("share/picklock", "share/doc/picklock", "libexec/picklock", "include/lockcore"):
            self.assertFalse((other / "usr" / ours).exists(), ours)


class Flags(unittest.TestCase):
    def test_cflags_and_ldflags_reach_every_rule(self):
        """Whatever compiles is told CFLAGS, whatever links is told LDFLAGS: asked of make, which only prints."""
        with tempfile.TemporaryDirectory(prefix="picklock-flags-") as build:
            said = make("-n", "--always-make", "picklock", "libraries", BUILD=build, CFLAGS="-DTOLD_CFLAGS",
                        LDFLAGS="-Wl,--defsym=told_ldflags=0")
        said = said.replace("\\\n", " ")
        compiled = linked = 0
        for line in said.splitlines():
            if re.search(r"(^|\s)(gcc|cc|clang)\s", line) and " -o " in line:
                self.assertIn("-DTOLD_CFLAGS", line)
                compiled += " -c " in line
                if " -c " not in line:
                    self.assertIn("told_ldflags", line)
                    linked += 1
        self.assertGreater(compiled, 100)
        self.assertGreaterEqual(linked, 2 + len(list((ROOT / "harness/real/preload").glob("*.c"))))
