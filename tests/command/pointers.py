#!/usr/bin/env python3
"""What messages and docs point at is there: files, links, commands, options, make targets. `pointers.py ./picklock`."""
import glob
import pathlib
import re
import subprocess

from common import PICKLOCK, ROOT, Command, main

ROOMS = ("adapters", "base", "bench", "checker", "cli", "deploy", "docs", "examples", "harness", "history", "lockcore", "results",
         "scenarios", "servers", "tests", "tools")
A_PATH = re.compile(r"(?<![\w./$<\"-])(?:%s)/[\w./*{},-]*[\w*}/]" % "|".join(ROOMS))
OTHERS_OPTIONS = {"--foreground", "--pdeathsig", "--reinstall", "--resume-failed", "--retry"}   # of other programs, or told not to be there


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True).stdout.split()
    return [ROOT / name for name in listed]


def literals(path):
    """The strings of a C file, neighbours joined, as (line, text)."""
    text = re.sub(r"/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found.group()), path.read_text(), flags=re.S)
    for found in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text):
        whole = re.sub(r'"\s*"', "", found.group())[1:-1]
        yield text.count("\n", 0, found.start()) + 1, whole.replace("\\n", "\n").replace('\\"', '"')


def messages():
    for path in tracked("base/*.c", "checker/*.c", "cli/*.c", "harness/*.c", "history/*.c", "lockcore/*.c", "servers/*.c"):
        for line, text in literals(path):
            if " " in text and "var(--" not in text:   # a style has names of its own that begin so
                yield f"{path.relative_to(ROOT)}:{line}", text


def pages():
    for path in tracked("*.md"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield path, f"{path.relative_to(ROOT)}:{number}", line


def is_built(name):
    """What no clone has: git is told to leave it aside."""
    return subprocess.run(["git", "check-ignore", "-q", name.rstrip("*")], cwd=ROOT).returncode == 0


def exists(name):
    """A path, a pattern, or the name of a module without its ending."""
    endings = ("", ".c", ".h", ".py", ".yaml")
    return any(glob.glob(str(ROOT / shape) + ending) for shape in braces(name) for ending in endings) or is_built(name)


def braces(name):
    found = re.search(r"\{([^{}]*)\}", name)
    return [name] if not found else [shape for word in found.group(1).split(",")
                                     for shape in braces(name[:found.start()] + word.strip() + name[found.end():])]


def is_name_of_any(name):
    return re.search(r"[A-Z]{2,}", name.replace("README", "").replace("CHANGELOG", "")) and not name.startswith("docs/")


def slug(heading):
    text = re.sub(r"[`*]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Pointers(Command):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        def helped(*words):
            return subprocess.run([PICKLOCK, *words, "--help"], capture_output=True, text=True).stdout
        cls.options = {name: set(re.findall(r"(--[a-z][a-z-]*)", helped(name))) | {"--help"}
                       for name in re.findall(r"^  ([a-z][a-z-]+) ", helped(), re.M)}
        cls.all_options = set().union(*cls.options.values()) | OTHERS_OPTIONS | {"--version"}
        cls.targets = {name for path in tracked("Makefile", "*.mk") for line in re.findall(r"^([a-z][a-z -]*):(?!=)", path.read_text(), re.M)
                       for name in line.split()}

    def wrong_commands(self, where, text):
        for name, rest in re.findall(r"\bpicklock ([a-z][a-z-]*)([^`\n|;]*)", text):
            if name not in self.options:
                yield f"{where}: picklock has no command {name}"
                continue
            for option in re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", re.split(r" -- | # ", rest)[0]):
                if option not in self.options[name]:
                    yield f"{where}: picklock {name} has no option {option}"

    def wrong_paths(self, where, text):
        for name in A_PATH.findall(text):
            if not is_name_of_any(name) and not exists(name):
                yield f"{where}: {name} is not there"

    def wrong_targets(self, where, text):
        for name in re.findall(r"`make ([a-z][a-z-]*)", text):
            if name not in self.targets:
                yield f"{where}: make has no target {name}"

    def test_messages(self):
        wrong = []
        for where, text in messages():
            wrong += self.wrong_paths(where, text)
            wrong += self.wrong_targets(where, text)
            wrong += [line for code in re.findall(r"`([^`]*)`", text) for line in self.wrong_commands(where, code)]
            wrong += [f"{where}: {option} is no option of any command" for option in re.findall(r"(?<![\w-])(--[a-z][a-z-]*)", text)
                      if option not in self.all_options]
        self.assertEqual(wrong, [])

    def test_docs(self):
        wrong = []
        fenced = False
        for path, where, line in pages():
            fenced ^= line.startswith("```")
            wrong += self.wrong_paths(where, re.sub(r"\]\([^)]*\)|https?://\S*", "", line))
            wrong += self.wrong_targets(where, line)
            for code in [line] if fenced else re.findall(r"`([^`]*)`", line):
                if re.match(r"(\$ )?(\./)?picklock [a-z]", code.strip()):
                    wrong += self.wrong_commands(where, code)
                elif re.match(r"--[a-z]", code):
                    option = re.match(r"--[a-z][a-z-]*", code).group()
                    wrong += [] if option in self.all_options else [f"{where}: {option} is no option of any command"]
        self.assertEqual(wrong, [])

    def test_links(self):
        wrong = []
        fenced = False
        for path, where, line in pages():
            fenced ^= line.startswith("```")
            if fenced:
                continue
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "`", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                name, _, anchor = target.partition("#")
                page = (path.parent / name).resolve() if name else path
                if not page.exists():
                    wrong.append(f"{where}: {target} is not there")
                elif anchor and page.suffix == ".md":
                    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
                    if anchor not in map(slug, headings) and f'name="{anchor}"' not in page.read_text():
                        wrong.append(f"{where}: {target}: no such heading")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    main()
