#!/bin/sh
# hiredis 1.x with its TLS, for a Debian that has 0.14 only: built in FOLDER from what a published package brings along.
# usage: hiredis1.sh FOLDER      then FOLDER/lib/pkgconfig names it; ends with 3 where it cannot be had
set -eu
folder=$1
version=3.2.1 # of the Python package `hiredis`, which ships the sources of hiredis 1.3.0
if [ -e "$folder/lib/pkgconfig/hiredis.pc" ]; then
    exit 0
fi

unable() {
    echo "hiredis1: $1" >&2
    exit 3
}

command -v python3 >/dev/null || unable "python3 is missing (apt-get install python3-venv)"
[ -e /usr/include/openssl/ssl.h ] || unable "openssl's headers are missing (apt-get install libssl-dev)"
rm -rf "$folder"
mkdir -p "$folder/source" "$folder/include/hiredis" "$folder/lib/pkgconfig"
folder=$(cd "$folder" && pwd)
python3 -m venv "$folder/venv" || unable "python3 makes no venv (apt-get install python3-venv)"
"$folder/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary hiredis \
    --dest "$folder/source" "hiredis==$version" || unable "the package registry does not give hiredis $version"
tar -xf "$folder/source/hiredis-$version.tar.gz" -C "$folder/source"
source=$folder/source/hiredis-$version/vendor/hiredis
[ -e "$source/ssl.c" ] || unable "hiredis $version does not bring hiredis' sources"

cp "$source"/*.h "$folder/include/hiredis/"
soname=$(sed -n 's/^#define HIREDIS_SONAME *//p' "$source/hiredis.h")
library() { # NAME LINK SOURCE...
    name=$1 link=$2
    shift 2
    (cd "$source" && ${CC:-gcc} -O2 -fPIC -shared -Wl,-soname,"lib$name.so.$soname" \
        -o "$folder/lib/lib$name.so.$soname" "$@" -L"$folder/lib" $link)
    ln -sf "lib$name.so.$soname" "$folder/lib/lib$name.so"
}
library hiredis '' alloc.c async.c hiredis.c net.c read.c sds.c sockcompat.c
library hiredis_ssl '-lhiredis -lssl -lcrypto' ssl.c
cat >"$folder/lib/pkgconfig/hiredis.pc" <<END
Name: hiredis
Description: hiredis with TLS
Version: $soname
Libs: -L$folder/lib -lhiredis -Wl,-rpath,$folder/lib
Cflags: -I$folder/include
END
rm -rf "$folder/source" "$folder/venv"
