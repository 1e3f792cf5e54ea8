#!/bin/sh
# Every scenario in both worlds, each verdict as its file expects, and the worlds agree.
set -eu
picklock=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# Runs of the real world mostly wait: more of them than there are processors.
"$picklock" run scenarios --world sim,real --jobs $((3 * $(nproc))) --out "$out/picklock-out" --junit "$out/junit.xml"
