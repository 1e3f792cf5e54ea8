#!/usr/bin/env bash
# Tests the command as a user meets it: every file in tests/command. `command.sh ./picklock`.
set -euo pipefail
cd "$(dirname "$0")/.."

for file in tests/command/*.py; do
    case $file in
        */common.py) ;;
        *) python3 "$file" "$1" ;;
    esac
done
