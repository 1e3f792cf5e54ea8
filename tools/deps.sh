#!/bin/sh
# Installs the Debian packages that are named and missing; as root, or with sudo.
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
# Debian would start a redis-server of its own on its usual port: picklock starts its own, and
# asks for none to be started.
policy=/usr/sbin/policy-rc.d
made=""
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
    $sudo chmod 755 "$policy"
    made=yes
fi
trap '[ -z "$made" ] || $sudo rm -f "$policy"' EXIT
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get install -y --no-install-recommends $missing >/tmp/picklock-deps.$$ 2>&1 || {
    $sudo apt-get update >/dev/null
    $sudo apt-get install -y --no-install-recommends $missing >/tmp/picklock-deps.$$ 2>&1 || {
        cat /tmp/picklock-deps.$$ >&2
        rm -f /tmp/picklock-deps.$$
        exit 3
    }
}
rm -f /tmp/picklock-deps.$$
