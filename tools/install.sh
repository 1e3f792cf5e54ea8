#!/bin/sh
# What is installed where, in one table, for `make install` and `make uninstall` alike.
#
#     tools/install.sh install|uninstall library|command...     places come in the environment
set -eu
act=$1
shift

# put MODE FROM TO: one file.
put() {
    case $act in
    install) install -D -m "$1" "$2" "$ROOT$3" ;;
    uninstall) rm -f "$ROOT$3" ;;
    esac
}

# make_link TARGET PATH
make_link() {
    case $act in
    install) ln -sf "$1" "$ROOT$2" ;;
    uninstall) rm -f "$ROOT$2" ;;
    esac
}

# put_tree FROM TO: every file below a folder that belongs to the project.
put_tree() {
    find "$1" -type f ! -path '*/node_modules/*' ! -name '*.pyc' | sort | while read -r file; do
        if [ -x "$file" ]; then mode=755; else mode=644; fi
        put "$mode" "$file" "$2/${file#"$1"/}"
    done
}

# our_folder PATH: a folder that is ours alone; gone when it is empty.
our_folder() {
    [ "$act" = install ] || [ ! -d "$ROOT$1" ] || find "$ROOT$1" -depth -type d -empty -delete
}

put_library() {
    put 644 "$BUILD/install/liblockcore.a" "$LIBDIR/liblockcore.a"
    put 644 "$BUILD/install/$SONAME" "$LIBDIR/liblockcore.so.$VERSION"
    make_link "liblockcore.so.$VERSION" "$LIBDIR/$SONAME"
    make_link "$SONAME" "$LIBDIR/liblockcore.so"
    for header in $PUBLIC_HEADERS; do
        case $header in
        lockcore/drivers/lockcore.h) to=lockcore/lockcore.h ;;
        lockcore/*) to=$header ;;
        *) to=lockcore/$header ;;
        esac
        put 644 "$header" "$INCLUDEDIR/$to"
    done
    if [ "$act" = install ]; then
        sed -e "s|@LIBDIR@|$LIBDIR|" -e "s|@INCLUDEDIR@|$INCLUDEDIR|" -e "s|=$PREFIX/|=\${prefix}/|" \
            -e "s|@PREFIX@|$PREFIX|" -e "s|@VERSION@|$VERSION|" lockcore/lockcore.pc.in \
            >"$BUILD/install/lockcore.pc"
    fi
    put 644 "$BUILD/install/lockcore.pc" "$LIBDIR/pkgconfig/lockcore.pc"
    put 644 "$BUILD/manual/lockcore.3" "$MANDIR/man3/lockcore.3"
    our_folder "$INCLUDEDIR/lockcore"
    if [ "$act" = install ] && [ -z "$ROOT" ] && [ "$(id -u)" -eq 0 ]; then
        ldconfig # or a program linked with the library would not find it
    fi
}

put_command() {
    put 755 "$BUILD/picklock" "$BINDIR/picklock"
    for shim in $SHIMS; do
        put 644 "$shim" "$LIBEXECDIR/picklock/$(basename "$shim")"
    done
    put 644 "$BUILD/manual/picklock.1" "$MANDIR/man1/picklock.1"
    put 644 "$BUILD/manual/picklock-scenario.5" "$MANDIR/man5/picklock-scenario.5"
    put 644 "$BUILD/manual/picklock-history.5" "$MANDIR/man5/picklock-history.5"
    put 644 "$BUILD/completions/picklock.bash" "$BASHDIR/picklock"
    put 644 "$BUILD/completions/picklock.zsh" "$ZSHDIR/_picklock"
    put 644 "$BUILD/completions/picklock.fish" "$FISHDIR/picklock.fish"
    put_tree scenarios "$DATADIR/picklock/scenarios"
    put 644 picklock.schema.json "$DATADIR/picklock/picklock.schema.json"
    for page in README.md CHANGELOG.md docs/*.md; do
        put 644 "$page" "$DOCDIR/$(basename "$page")"
    done
    put_tree docs/pictures "$DOCDIR/pictures"
    put_tree examples "$DOCDIR/examples"
    put_tree adapters "$DOCDIR/adapters"
    put_tree deploy "$DOCDIR/deploy"
    put 644 action.yml "$DOCDIR/action.yml"
    our_folder "$DATADIR/picklock"
    our_folder "$LIBEXECDIR/picklock"
    our_folder "$DOCDIR"
}

for part in "$@"; do
    "put_$part"
done
