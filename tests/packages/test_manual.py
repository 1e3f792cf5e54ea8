"""The manual and the completions: whole, well formed, and what the shells make of them."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from test_library import ROOT, make, marked, run

PICKLOCK = ROOT / "picklock"


def commands():
    lines = run(PICKLOCK, "--help").splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ") and line.strip()]


def options(command):
    """The options of a command, as its --help lists them: {"--world": "WORLD", "--quiet": None}."""
    found = re.findall(r"^ +(?:-\w, +)?(--[\w-]+)(?:=(\S+))?", run(PICKLOCK, command, "--help"), re.M)
    return {name: value or None for name, value in found if name not in ("--help", "--usage", "--version")}


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make("manual")
        cls.folder = ROOT / "build" / "default" / "manual"

    def page(self, name):
        """A page as a reader sees it, on one line."""
        shown = run("mandoc", "-T", "ascii", self.folder / name)
        return re.sub(r"\s+", " ", re.sub(".\b", "", shown))

    def test_every_page_is_well_formed(self):
        if shutil.which("mandoc") is None:
            self.skipTest("mandoc is missing")
        pages = sorted(path.name for path in self.folder.iterdir())
        self.assertEqual(pages, ["lockcore.3", "picklock-history.5", "picklock-scenario.5", "picklock.1"])
        for name in pages:
            self.assertEqual(run("mandoc", "-T", "lint", "-W", "warning", self.folder / name), "")

    def test_every_command_option_and_exit_code_is_on_the_page(self):
        page = self.page("picklock.1")
        self.assertGreater(len(commands()), 10)
        for command in commands():
            self.assertIn(f"picklock {command} [option ...]", page)
            part = re.split(r" picklock \w+ \[option", page.split(f" picklock {command} [option ...]")[1])[0]
            for option, value in options(command).items():
                self.assertIn(option if value is None else f"{option} ", part, f"picklock {command} {option}")
        for code in re.findall(r"EXIT_\w+ = (\d+)", (ROOT / "cli" / "command.h").read_text()):
            self.assertRegex(page, rf"EXIT STATUS.* {code} .*EXAMPLES")

    def test_every_key_fault_check_and_algorithm_is_on_the_page(self):
        page = self.page("picklock-scenario.5")
        table = (ROOT / "docs" / "SCENARIO.md").read_text()
        keys = re.findall(r"^\| `([\w.]+)` \| \w+ \|", table, re.M)
        self.assertGreater(len(keys), 50)
        for word in keys:
            self.assertIn(f" {word} ", page)
        for kind in ("checks", "faults", "algorithms", "probes"):
            for line in run(PICKLOCK, "list", kind).splitlines():
                self.assertRegex(page, rf"\b{re.escape(line.split()[0])}\b")

    def test_every_field_is_on_the_page(self):
        page = self.page("picklock-history.5")
        source = (ROOT / "history" / "fields.c").read_text()
        fields = re.findall(r'\{"(\w+)", FIELD_', source)
        self.assertGreater(len(fields), 40)
        for field in fields:
            self.assertRegex(page, rf" {field} ")

    def test_every_public_function_is_on_the_page(self):
        page = self.page("lockcore.3")
        names = set()
        for header in ROOT.glob("lockcore/**/*.h"):
            names |= marked(header.relative_to(ROOT))[0]
        self.assertGreater(len(names), 30)
        for name in names:
            self.assertIn(f"{name}(", page)


BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_picklock
printf '%s\\n' "${COMPREPLY[@]}"
"""

# A terminal of its own: zsh completes only where somebody types.
ZSH = r"""
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1= PS2= RPS1=; setopt no_beep; autoload -U compinit; compinit -D -u'
zpty -w z 'zstyle ":completion:*" menu no; bindkey "^I" complete-word'
zpty -w z 'show() { print -r -- "<$BUFFER>"; exit }; zle -N show; bindkey "^T" show'
zpty -w z "source $1; print RE''ADY"
zpty -r -m z seen '*READY*'
zpty -w -n z "$2"$'\t\x14'
zpty -r -m z seen '*<*>*'
print -r -- $seen
"""


class Completions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make("manual")
        cls.folder = ROOT / "build" / "default" / "completions"

    def bash(self, *words):
        done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", self.folder / "picklock.bash", *words],
                              text=True, capture_output=True, check=True, cwd=self.scratch)
        self.assertEqual(done.stderr, "")
        return [line for line in done.stdout.splitlines() if line]

    def fish(self, line):
        done = subprocess.run(["fish", "--no-config", "-c", f"source {self.folder}/picklock.fish; complete -C '{line}'"],
                              text=True, capture_output=True, check=True, cwd=self.scratch,
                              env={**os.environ, "HOME": str(self.scratch)})
        return [one.split("\t")[0] for one in done.stdout.splitlines()]

    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="picklock-complete-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        (self.scratch / "some.yaml").write_text("")
        (self.scratch / "folder").mkdir()

    def test_bash_completes_every_command_and_option(self):
        self.assertEqual(set(self.bash("picklock", "")), {*commands(), "--help", "--version"})
        for command in commands():
            self.assertEqual(set(self.bash("picklock", command, "--")), {*options(command), "--help", "--version"})

    def test_bash_completes_words_files_and_folders(self):
        self.assertEqual(self.bash("picklock", "run", "--world", "r"), ["real", "real,sim"])
        self.assertEqual(self.bash("picklock", "run", "--world", "=", "si"), ["sim", "sim,real"])
        self.assertEqual(self.bash("picklock", "run", "-w", "=", "si"), ["sim", "sim,real"])
        self.assertEqual(self.bash("picklock", "show", "--check", "section"), ["section_exclusion"])
        self.assertEqual(self.bash("picklock", "list", "pro"), ["probes"])
        self.assertEqual(self.bash("picklock", "run", "--seed", ""), [])
        self.assertEqual(self.bash("picklock", "run", "so"), ["some.yaml"])
        self.assertEqual(self.bash("picklock", "run", "--out", ""), ["folder"])

    @unittest.skipUnless(shutil.which("fish"), "fish is missing")
    def test_fish_completes_the_same(self):
        self.assertEqual(set(commands()) - set(self.fish("picklock ")), set())
        for command in commands():
            self.assertEqual(set(options(command)) - set(self.fish(f"picklock {command} --")), set())
        self.assertEqual(self.fish("picklock run --world r"), ["real", "real,sim"])
        self.assertEqual(self.fish("picklock show --check section"), ["section_exclusion"])
        self.assertIn("some.yaml", self.fish("picklock run so"))
        self.assertEqual(self.fish("picklock list pro"), ["probes"])

    def zsh(self, line):
        done = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", self.folder / "picklock.zsh", line], text=True,
                              capture_output=True, cwd=self.scratch, timeout=60, stdin=subprocess.DEVNULL,
                              env={**os.environ, "HOME": str(self.scratch), "TERM": "dumb", "COLUMNS": "200"})
        return done.stdout

    @unittest.skipUnless(shutil.which("zsh"), "zsh is missing")
    def test_zsh_completes_the_same(self):
        for line, whole in (("picklock comp", "picklock completion"), ("picklock run --wor", "picklock run --world="),
                            ("picklock show --check section", "picklock show --check section_exclusion"),
                            ("picklock run --stop", "picklock run --stop-at-first"),
                            ("picklock list pro", "picklock list probes"), ("picklock run so", "picklock run some.yaml")):
            self.assertIn(f"<{whole}", self.zsh(line), line)


class Version(unittest.TestCase):
    def test_every_command_tells_the_version(self):
        version = re.search(r'PICKLOCK_VERSION "(.*)"', (ROOT / "base" / "version.h").read_text())[1]
        for words in ([], *[[command] for command in commands()]):
            self.assertEqual(run(PICKLOCK, *words, "--version"), f"picklock {version}\n")

    def test_the_newest_change_is_of_this_version(self):
        text = (ROOT / "base" / "version.h").read_text()
        version = re.search(r'PICKLOCK_VERSION "(.*)"', text)[1]
        date = re.search(r'PICKLOCK_DATE +"(.*)"', text)[1]
        self.assertEqual(re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)[0], f"{version} - {date}")
