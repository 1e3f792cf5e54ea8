#!/bin/sh
# Prints files, one behind the other, as an array of bytes in C: bytes.sh NAME FILE...
set -eu
name=$1
shift
echo "static const unsigned char $name[] = {"
cat "$@" | od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g'
echo "};"
