#!/bin/sh
# purity.sh: shows that the lock core imports nothing but memory and string functions and base.
#
#     tools/purity.sh build/default
#
# A core that names no clock, socket, heap or dice cannot use one.
set -eu
build=${1:?usage: purity.sh BUILD_DIRECTORY}
core=$(find "$build/lockcore" -name '*.o' ! -path '*/drivers/*')
[ -n "$core" ] || { echo "purity: no objects under $build/lockcore" >&2; exit 1; }
own=$(nm --defined-only $core "$build"/base/assert.o | awk 'NF == 3 {print $3}')
allowed=$(printf '%s\n' $own memcpy memset memcmp memmove strcmp strncmp strlen \
    __stack_chk_fail _GLOBAL_OFFSET_TABLE_ | sort -u)
wanted=$(nm --undefined-only $core | awk 'NF == 2 {print $2}' | grep -v '^__\(asan\|ubsan\)_' | sort -u)
foreign=$(printf '%s\n' "$wanted" | grep -vxF "$allowed" || true)
if [ -n "$foreign" ]; then
    echo "purity: the lock core imports what it must not:" $foreign >&2
    nm -A --undefined-only $core | grep -wF "$foreign" >&2
    exit 1
fi
echo "purity: $(printf '%s\n' $core | wc -l) objects of the lock core import only:" \
    $(printf '%s\n' "$wanted" | grep -vxF "$own" || true)
