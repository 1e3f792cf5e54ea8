#!/bin/sh
# Every scenario in both worlds, each verdict as its file expects, and the worlds agree.
set -eu
picklock=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$picklock" run scenarios --world sim,real --out "$out/picklock-out" --junit "$out/junit.xml"
