#!/bin/sh
# The source as one tarball, build/picklock-VERSION.tar.gz: the same bytes from the same files, whoever
# makes it, with git or without.
set -eu
cd "$(dirname "$0")/.."
umask 022
version=$(sed -n 's/.*PICKLOCK_VERSION "\(.*\)"/\1/p' base/version.h)
date=$(sed -n 's/.*PICKLOCK_DATE *"\(.*\)"/\1/p' base/version.h)
name=picklock-$version
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# Every file of the project, ended by zero bytes: those that git tracks, else all that no build made.
# A folder's files go by their names in the C locale.
files() {
    if [ -e .git ]; then
        git ls-files -z
    else
        find . -path ./build -prune -o -path './picklock-out*' -prune -o -type d -name node_modules -prune \
            -o -type f ! -path ./picklock.schema.json ! -path ./debian/changelog ! -name '*.pyc' -print0
    fi
}

mkdir -p build "$stage/$name"
files | tar -c --null -T - -f - | tar -x -C "$stage/$name" -f -
tools/debian_changelog.sh >"$stage/$name/debian/changelog"
tar -c --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --mtime="$date 00:00:00Z" -C "$stage" -f - "$name" | gzip -9n >"build/$name.tar.gz.part"
mv "build/$name.tar.gz.part" "build/$name.tar.gz"
echo "dist: build/$name.tar.gz"
