#!/bin/sh
# Installs the Debian packages that are named and missing; as root, or with sudo. Interrupted, it leaves the machine as it was.
set -eu
missing=""
for package in "$@"; do
    status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
    [ "$status" = "install ok installed" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "deps: this is no Debian; install by hand what stands for:$missing" >&2
    exit 3
fi
sudo=""
if [ "$(id -u)" -ne 0 ]; then
    sudo=sudo
    command -v sudo >/dev/null || {
        echo "deps: run as root, or install sudo, to get:$missing" >&2
        exit 3
    }
fi
echo "deps: installing$missing"

# Debian would start a redis-server of its own on its usual port: picklock starts its own, and asks
# for none to be started. The policy that says so holds while this script lives: where it was killed
# and could not take it away, the policy forbids nothing, and goes when it is asked next.
policy=${PICKLOCK_POLICY:-/usr/sbin/policy-rc.d}
log=$(mktemp)
made=""
clean_up() {
    rm -f "$log"
    [ -z "$made" ] || $sudo rm -f "$policy"
    made=""
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 129' HUP
trap 'exit 143' TERM
if printf '#!/bin/sh\nif kill -0 %s 2>/dev/null || [ -d /proc/%s ]; then exit 101; fi\nrm -f "$0"\nexit 0\n' $$ $$ |
    $sudo sh -c "set -C; umask 022; cat >'$policy'" 2>/dev/null; then
    made=yes
    $sudo chmod 755 "$policy"
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get install -y --no-install-recommends $missing >"$log" 2>&1 || {
    $sudo apt-get update >/dev/null
    $sudo apt-get install -y --no-install-recommends $missing >"$log" 2>&1 || {
        cat "$log" >&2
        exit 3
    }
}
