#!/bin/sh
# debian/changelog, from CHANGELOG.md: the packages tell of the same changes and the same version.
set -eu
cd "$(dirname "$0")/.."
maintainer=$(sed -n 's/^Maintainer: //p' debian/control)
awk -v maintainer="$maintainer" '
    # A paragraph as one point of the list, in lines of at most 76 columns.
    function flush(    words, count, i, line) {
        count = split(paragraph, words, " ")
        line = "  *"
        for (i = 1; i <= count; i++) {
            if (length(line) + length(words[i]) > 75) {
                print line
                line = "   "
            }
            line = line " " words[i]
        }
        if (count > 0) {
            print line
        }
        paragraph = ""
    }
    function finish() {
        flush()
        if (version != "") {
            printf "\n -- %s  ", maintainer
            fflush()
            system("LC_ALL=C date -u -R -d \"" date " 00:00:00\"")
        }
    }
    /^## / {
        finish()
        printf "%spicklock (%s) unstable; urgency=medium\n\n", (version != "" ? "\n" : ""), $2
        version = $2
        date = $4
        next
    }
    version == "" { next }
    /^$/ || /^- / { flush() }
    {
        sub(/^- /, "")
        gsub(/`/, "")
        paragraph = paragraph " " $0
    }
    END { finish() }
' CHANGELOG.md
