# lockcore_manual.awk: lockcore(3), from the public headers: their words are the manual.
#
#     awk -f tools/lockcore_manual.awk -v date=2026-11-22 -v section=... HEADER...
#
# Of each header: its first comment, then every function that is marked LOCKCORE_API, with the
# comment that stands before it. The lists of words (LOCK_TOLD_MAP, ...) become tables.

function quoted(line) {
    gsub(/\\/, "\\e", line)
    if (line ~ /^[.']/) {
        line = "\\&" line
    }
    return line
}

function display(lines) {
    print ".Bd -literal -offset indent"
    print lines
    print ".Ed"
}

# What a comment says, without its frame.
function comment_line(line) {
    sub(/^[ \t]*\/\*+ ?/, "", line)
    sub(/[ \t]*\*\/[ \t]*$/, "", line)
    sub(/^[ \t]*\*( |$)/, "", line)
    return line
}

# Paragraphs as text; what is indented stays as it is.
function text_print(comment,    lines, count, i, literal, apart) {
    count = split(comment, lines, "\n")
    literal = apart = 0
    for (i = 1; i <= count; i++) {
        if (lines[i] == "") {
            apart = (i > 1)
        } else if (lines[i] ~ /^  +[^ ]/) {
            print (literal ? (apart ? "\n" : "") : ".Bd -literal -offset indent\n") quoted(lines[i])
            literal = 1
            apart = 0
        } else {
            print (literal ? ".Ed\n" : "") (apart ? ".Pp\n" : "") sentences(quoted(lines[i]))
            literal = apart = 0
        }
    }
    if (literal) {
        print ".Ed"
    }
}

# A sentence begins a line, as mdoc(7) asks.
function sentences(line) {
    while (match(line, /[.:] [A-Z]/)) {
        line = substr(line, 1, RSTART) "\n" substr(line, RSTART + 2)
    }
    return line
}

function prototype_print(line) {
    gsub(/[ \t\n]+/, " ", line)
    sub(/^LOCKCORE_API /, "", line)
    sub(/^MUST_USE /, "", line)
    synopsis[++functions] = line
    about[functions] = last_comment
    from[functions] = FILENAME
}

BEGIN {
    split("January February March April May June July August September October November December", months, " ")
    split(date, day, "-")
    printf ".Dd %s %d, %s\n.Dt LOCKCORE 3\n.Os\n", months[day[2] + 0], day[3], day[1]
    print ".Sh NAME\n.Nm lockcore\n.Nd distributed locks on redis nodes: Redlock as a pure step, with drivers"
    print ".Sh SYNOPSIS\n.In lockcore/lockcore.h\n.Pp"
    print "cc program.c $(pkg-config \\-\\-cflags \\-\\-libs lockcore)"
    print ".Sh DESCRIPTION"
}

FNR == 1 {
    headers++
    last_comment = ""
    first = 1
}

# A comment of its own: kept until what it stands before is known.
/^\/\*/ {
    comment = comment_line($0)
    done = ($0 ~ /\*\/[ \t]*$/)
    while (!done && (getline line) > 0) {
        done = (line ~ /\*\/[ \t]*$/)
        comment = comment "\n" comment_line(line)
    }
    sub(/^\n+/, "", comment)
    sub(/\n+$/, "", comment)
    last_comment = comment
    if (first) {
        name = FILENAME
        sub(/^lockcore\/drivers\/lockcore.h$/, "lockcore/lockcore.h", name)
        print ".Ss <" name ">"
        sub(/^[a-z]+\.h: /, "", comment)
        text_print(comment)
        last_comment = ""
        first = 0
    }
    next
}

/^$/ {
    last_comment = ""
}

/^LOCKCORE_API/ {
    line = $0
    while (line !~ /;/ && (getline more) > 0) {
        line = line " " more
    }
    prototype_print(line)
    next
}

# A list of words: #define LOCK_TOLD_MAP(X) ... X(NAME, "word") ...
/^#define [A-Z_]+_MAP\(X\)/ {
    sub(/^#define /, "")
    sub(/\(X\).*/, "")
    map = $0
    maps[++map_count] = map
    while ((getline line) > 0) {
        if (match(line, /X\([A-Z_]+, "[^"]*"/)) {
            word = substr(line, RSTART + 2, RLENGTH - 2)
            name = word
            sub(/,.*/, "", name)
            sub(/^[^"]*"/, "", word)
            sub(/"$/, "", word)
            entries[map] = entries[map] "\n" name "\t" word
        }
        if (line !~ /\\$/) {
            break
        }
    }
    next
}

END {
    print ".Sh FUNCTIONS"
    for (i = 1; i <= functions; i++) {
        if (from[i] != group) {
            group = from[i]
            print ".Ss Of <" group ">"
        }
        display(quoted(synopsis[i]))
        if (about[i] != "") {
            text_print(about[i])
        }
    }
    print ".Sh CONSTANTS"
    for (i = 1; i <= map_count; i++) {
        print ".Ss " maps[i]
        print ".Bl -tag -width Ds"
        count = split(substr(entries[maps[i]], 2), rows, "\n")
        for (j = 1; j <= count; j++) {
            split(rows[j], cells, "\t")
            print ".It Dv " cells[1]
            print (cells[2] == "" ? "no words" : quoted(cells[2]))
        }
        print ".El"
    }
    print ".Sh EXAMPLES"
    print "A program that guards a file comes with the library, as examples/guard_file.c."
    print ".Sh SEE ALSO\n.Xr picklock 1"
}
