#!/bin/sh
# The Debian packages, from the source tarball, into build/deb: dpkg-buildpackage, and lintian over them.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/.*PICKLOCK_VERSION "\(.*\)"/\1/p' base/version.h)
folder=${1:-build/deb}
tools/dist.sh
rm -rf "$folder"
mkdir -p "$folder"
tar -x -C "$folder" -f "build/picklock-$version.tar.gz"
log=$(cd "$folder" && pwd)/build.log
(cd "$folder/picklock-$version" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u CC -u CFLAGS -u LDFLAGS \
    dpkg-buildpackage --build=binary --no-sign >"$log" 2>&1) || {
    tail -n 40 "$log"
    echo "deb: the build failed; all of it is in $log"
    exit 1
}
lintian --allow-root --fail-on error,warning --tag-display-limit 0 "$folder"/*.changes
ls "$folder"/*.deb
