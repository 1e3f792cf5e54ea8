#!/bin/sh
# The arrows between rooms go one way, and each third-party library comes in through few named files.
set -eu
cd "$(dirname "$0")/.."
broken=0

# may ROOM GREP-PATTERN-OF-ALLOWED-INCLUDES
may() {
    found=$(grep -rnE '^#include "' --include='*.[ch]' "$1" 2>/dev/null |
        grep -vE "#include \"($2)/" | grep -vE "^$1/[^:]*:[0-9]+:#include \"[^/]*\"" || true)
    if [ -n "$found" ]; then
        echo "arrows: $1 may include only $2:"
        echo "$found"
        broken=1
    fi
}

may base base
may lockcore 'base|lockcore'
may history 'base|history'
may checker 'base|history|checker'
may servers 'base|lockcore|history|servers'
may harness 'base|lockcore|history|servers|harness'
may cli 'base|lockcore|history|servers|harness|checker|cli'

# forbid PLACE PATTERN WHY [BUT-PATTERN]
forbid() {
    [ -n "$1" ] || return 0
    found=$(grep -rnE "$2" --include='*.[ch]' $1 2>/dev/null | grep -vE "${4:-^$}" || true)
    if [ -n "$found" ]; then
        echo "arrows: $3:"
        echo "$found"
        broken=1
    fi
}

forbid harness/sim '#include "harness/real' 'the worlds see each other only through world.h'
forbid harness/real '#include "harness/sim' 'the worlds see each other only through world.h'
forbid "$(find lockcore -name '*.[ch]' ! -path 'lockcore/drivers/*' | sort | tr '\n' ' ')" '#include "lockcore/drivers' \
    'the lock core knows no driver'

# What a kind is in the simulator and what it is in the real world meet in its row alone.
for kind in servers/*/; do
    name=$(basename "$kind")
    forbid "$(ls "$kind"*.[ch] | grep -v "/$name\.[ch]$" | tr '\n' ' ')" \
        '#include "servers/[^"]*/real/' 'a model knows no process and no byte'
    [ ! -d "$kind/real" ] || forbid "$kind/real" "#include \"servers/$name/[^/]*\"" \
        "what is real of a kind knows no model" "servers/$name/$name\.h"
done

above='linear|settle|file|certificate'
forbid checker/linear/whole "#include \"checker/linear/(steps/|$above)" \
    'what judges all operations of a lock does not know how they came'
forbid checker/linear/steps "#include \"checker/linear/($above)" \
    'what judges events as they arrive does not know who feeds it'

# order FOLDER FILE...: each file may include only those before it in the list (FOLDER/NAME.h)
order() {
    folder=$1
    shift
    above="$*"
    for name in "$@"; do
        above=${above#"$name"}
        above=${above# }
        later=$(echo "$above" | tr ' ' '|')
        [ -z "$later" ] || forbid "$(ls "$folder/$name".[ch] | tr '\n' ' ')" \
            "#include \"$folder/($later)\.h\"" "$folder/$name stands below what it includes"
    done
}

order checker/ledger ledger_claims ledger_keys ledger_leases ledger_valid
order checker/ledger ledger_faults ledger_leases
for check in checker/checks/*.c; do
    others=$(ls checker/checks/*.h 2>/dev/null || true)
    [ -z "$others" ] || { echo "arrows: checks share nothing but the ledger: $others"; broken=1; }
    forbid "$check" '#include "checker/(checks|judge|report)' 'a check knows no other check'
done

# only HEADER FILE...: who may include a third-party header
only() {
    header=$1
    shift
    found=$(grep -rlE "^#include <($header)>" --include='*.[ch]' base lockcore history servers harness checker cli || true)
    for file in $found; do
        case " $* " in
        *" $file "*) ;;
        *)
            echo "arrows: $file includes <$header>; only $* may"
            broken=1
            ;;
        esac
    done
}

only 'hiredis/.*|hiredis.h' lockcore/drivers/hiredis.c servers/redis/real/secure.c
only 'libpq-fe.h' servers/sql/real/libpq.h
only 'curl/.*' servers/etcd/real/libcurl.h
only 'zookeeper/.*' servers/zookeeper/real/libzookeeper.h
only 'yaml.h' harness/scenario_yaml.c
only 'uv.h' harness/real/process/loop.h lockcore/drivers/hiredis.c lockcore/drivers/loop.h
only 'jansson.h' harness/real/adapter/adapter_json.c servers/etcd/real/gateway.c
only 'zstd.h' history/stream.c
only 'xxhash.h' cli/recording.c cli/hash.c history/value.c
only 'openssl/.*' harness/real/agent/seal.c servers/redis/real/secure.c

if [ "$broken" -ne 0 ]; then
    exit 1
fi
echo "arrows: every include goes the allowed way"
