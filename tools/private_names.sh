#!/bin/sh
# Gives every name that an object hides a name that no other library has, so that a static library
# leaks no text_add or arena_take into the program that links it. Copies OBJECT... into FOLDER.
#
#     tools/private_names.sh FOLDER OBJECT...
#
# Each object stays one of its own: whoever needs the step alone links no driver and no socket.
set -eu
folder=$1
shift
names=$folder/private-names
mkdir -p "$folder"
"${READELF:-readelf}" -sW "$@" |
    awk '$5 == "GLOBAL" && ($6 == "HIDDEN" || $6 == "INTERNAL") && $7 != "UND" {
             print $8, "lockcore_private_" $8 }' | sort -u >"$names"
for object in "$@"; do
    "${OBJCOPY:-objcopy}" --redefine-syms="$names" "$object" \
        "$folder/$(basename "$(dirname "$object")")_$(basename "$object")"
done
