#!/usr/bin/env python3
"""The house style as a program: lengths, bans, layout. Prints FILE:LINE: what is wrong."""
import glob
import re
import sys

ROOMS = ["base", "lockcore", "history", "servers", "harness", "checker", "cli", "bench", "examples"]
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 500
COLUMNS_MAX = 100
PARAMETERS_MAX = 5

# A pattern, what to do instead, and the files in which it may stand.
BANS = [
    (r"\b(malloc|calloc|realloc|free|strdup|strndup|asprintf|getline)\(",
     "memory comes from base/arena.h",
     r"^base/arena\.c$|^bench/|^examples/|^harness/real/preload/|^lockcore/drivers/|adapter_json|^harness/real/process/(guard|clean)\.c$|^tests/"),
    (r"\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol)\(", "use base/text.h or a checked parse", r"^tests/"),
    (r"\b(rand|srand|random|drand48)\(\)", "draw from a named stream of base/random.h", r"^$"),
    (r"\b(TODO|FIXME|XXX|HACK)\b", "finish it, or file an issue", r"^$"),
    (r"^\s*else if\b(?!.*\{)", "braces always", r"^$"),
    (r"^#pragma once", "use an include guard", r"^$"),
]
CLOCKS = re.compile(r"\b(clock_gettime|gettimeofday|time\(NULL\)|usleep|nanosleep|sleep\(|printf|getrandom)\b")
PURE = re.compile(r"^(lockcore/(?!drivers/).*\.c|harness/sim/|servers/(?!\w+/real/)|checker/(?!.*(file|linearization_file|log)\.c))")


def result_functions():
    """Names of functions that return a struct result: dropping one takes result_ignore."""
    names = set()
    for path in glob.glob("**/*.[ch]", recursive=True):
        names.update(re.findall(r"\bstruct result (\w+)\(", open(path, errors="replace").read()))
    return names


RESULTS = result_functions()


def problems_of(path):
    text = open(path, encoding="utf-8", errors="replace").read()
    lines = text.split("\n")
    if not lines[0].startswith(("/*", "//")):
        yield 1, "the first line must say the file's one job"
    if len(lines) > FILE_LINES_MAX + 1:
        yield len(lines), f"{len(lines) - 1} lines; at most {FILE_LINES_MAX}"
    start = 0
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX:
            yield number, f"{len(line)} columns; at most {COLUMNS_MAX}"
        if not line.isascii():
            yield number, "sources are ASCII"
        if line == "{":
            start = number
        if line.startswith("}") and start:
            if number - start - 1 > FUNCTION_LINES_MAX:
                yield start, f"a function of {number - start - 1} lines; at most {FUNCTION_LINES_MAX}"
            start = 0
        code = re.sub(r'"(\\.|[^"\\])*"', '""', line)
        for pattern, instead, allowed in BANS:
            if re.search(pattern, line if "TODO" in pattern else code) and not re.search(allowed, path):
                yield number, f"banned: {line.strip()[:60]}: {instead}"
        dropped = re.search(r"\(void\)\s*(\w+)\(", code)
        if dropped and dropped[1] in RESULTS:
            yield number, f"a result is dropped: use result_ignore({dropped[1]}(...), \"why this is safe\")"
        if PURE.match(path) and CLOCKS.search(code) and "snprintf" not in code:
            yield number, f"no clock, sleep, output or dice here: {line.strip()[:60]}"
    for match in re.finditer(r"^(?!static_assert)[a-z][\w \*]*?\b(\w+)\(([^;{}()]*)\)\n\{", text, re.M):
        count = 0 if match[2].strip() in ("", "void") else match[2].count(",") + 1
        if count > PARAMETERS_MAX:
            number = text[: match.start()].count("\n") + 1
            yield number, f"{match[1]} takes {count} parameters; at most {PARAMETERS_MAX}, then a struct"


def main():
    broken = 0
    files = [f for room in ROOMS for f in sorted(glob.glob(f"{room}/**/*.[ch]", recursive=True))]
    tests = sorted(glob.glob("tests/**/*.[ch]", recursive=True))
    for path in files + tests:
        for number, what in problems_of(path):
            print(f"{path}:{number}: {what}")
            broken += 1
    print(f"tidy: {len(files) + len(tests)} files, {broken} problems")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
