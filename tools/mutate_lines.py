"""mutate_lines.py: which program passes which line of a room, as gcov saw it; made once and kept.

    seen = Lines(room, paths, programs, flags, fewer)
    seen.passed(path, line)  -> the names of the programs that passed this line; None where that cannot be told

What was seen stands in build/mutate/ROOM.lines.json, and counts as long as neither the sources nor the tests are younger;
of a program that runs scenarios, as long as none of those is.
"""
import glob
import json
import os
import re
import shutil
import subprocess

OUT = "build/mutate"


class Lines:
    def __init__(self, room, paths, programs, flags, fewer, run):
        """`run(words)` runs a compiler or gcov; `programs` are linked and run as they are, with what they pass written down."""
        self.room, self.paths, self.flags, self.fewer, self.run = room, paths, flags, fewer, run
        self.folder = os.path.abspath(os.path.join(OUT, "cover", room))
        kept = os.path.join(OUT, f"{room}.lines.json")
        self.seen = {}
        if os.path.exists(kept) and os.path.getmtime(kept) > self.youngest(programs):
            with open(kept, encoding="utf-8") as lines:
                self.seen = json.load(lines)
        made = os.path.getmtime(kept) if self.seen else 0
        missing = [program for program in programs
                   if program.name not in self.seen or any(os.path.getmtime(path) > made for path in program.scenarios())]
        self.linked = False  # the command, which serves many programs
        if missing:
            objects = self.compile()
            for program in missing:
                self.seen[program.name] = self.passed_by(program, objects)
                with open(kept, "w", encoding="utf-8") as lines:
                    json.dump(self.seen, lines)
        self.lines = {path: set() for path in paths}
        for files in self.seen.values():
            for path, passed in files.items():
                self.lines.setdefault(path, set()).update(passed["code"])
        self.ran = {(name, path): set(passed["ran"]) for name, files in self.seen.items() for path, passed in files.items()}

    def youngest(self, programs):
        files = [f"{self.flags.build}/picklock", *self.paths] + [p.object for p in programs if p.object] + \
            [p.script for p in programs if p.script]
        return max(os.path.getmtime(path) for path in files)

    def compile(self):
        """The room's sources once more, with counters; one folder, so that one gcov reads them all."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        objects = []
        for path in self.paths:
            objects.append(os.path.join(self.folder, re.sub(r"\W", "_", path[:-2]) + ".o"))
            made = self.run([*self.flags.cc, *self.flags.cflags, "-O0", "--coverage", "-c", path, "-o", objects[-1]])
            if made.returncode != 0:
                raise SystemExit(f"mutate: {path} does not compile with --coverage: {made.stdout.decode()[-300:]}")
        return objects

    def passed_by(self, program, objects):
        """{path: {"code": lines that have code, "ran": those of them that it passed}}."""
        place = os.path.join(self.folder, re.sub(r"\W", "_", program.name))
        os.makedirs(place, exist_ok=True)
        binary = os.path.join(OUT, "base", "covered")
        members = [o for o in objects if program.holds_path(self.paths[objects.index(o)])]
        if not members or program.killed:
            return {}
        if program.object or not self.linked:
            self.linked = not program.object
            if program.link(binary, [*members, "--coverage"], self.flags).returncode != 0:
                return {}
        os.environ.update({"GCOV_PREFIX": place, "GCOV_PREFIX_STRIP": "99"})
        program.run(binary, 600, os.path.join(OUT, "base", "scratch"), self.fewer, fewer_seeds=True)
        for name in ("GCOV_PREFIX", "GCOV_PREFIX_STRIP"):
            del os.environ[name]
        for counts in glob.glob(f"{place}/*.gcda"):
            notes = os.path.basename(counts)[:-5] + ".gcno"
            os.symlink(os.path.join(self.folder, notes), os.path.join(place, notes))
        return self.read(place)

    def read(self, place):
        counts = sorted(glob.glob(f"{place}/*.gcda"))
        found = {}
        if counts:
            told = subprocess.run(["gcov", "--json-format", "--stdout", *counts], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, check=False)
            for document in told.stdout.splitlines():
                for file in json.loads(document)["files"] if document.startswith(b"{") else []:
                    if file["file"] in self.paths:
                        found[file["file"]] = {"code": [line["line_number"] for line in file["lines"]],
                                               "ran": [line["line_number"] for line in file["lines"] if line["count"]]}
        shutil.rmtree(place)
        return found

    def passed(self, path, line):
        """A line inside a statement has no code of its own: the last one before it that has stands for it."""
        coded = [code for code in self.lines.get(path, ()) if code <= line]
        if not coded:
            return None
        return {name for name in self.seen if max(coded) in self.ran.get((name, path), ())}
