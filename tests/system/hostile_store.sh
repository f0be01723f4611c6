# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# hostile_store.sh MAKE_LOG - servers that are no ClickHouse, or a bad one: they are told
# apart, their answers are bounded, and a connection that breaks is tried again.
. "$(dirname "$0")/system.sh"
need python3
folder=$(dirname "$0")
"$1" experiment >a.cptlog
if "$CPT" load clickhouse://127.0.0.1:1/a a.cptlog 2>&1 | grep -q 'without libcurl'; then
    echo 'skipped: cpt was built without libcurl'
    exit 77
fi

# serve MODE: its address in $store.
serve() {
    start "$1" python3 "$folder/hostile_store.py" "$1"
    await "$1.out" '^[0-9]'
    store=clickhouse://127.0.0.1:$(cat "$1.out")/cpt
}

# refuses SENTENCE ARGUMENTS...: that command fails, and says so.
refuses() {
    sentence=$1
    shift
    if "$CPT" "$@" >refused.out 2>refused.err; then
        fail "cpt $* succeeded: $(cat refused.out)"
    fi
    grep -q "$sentence" refused.err || fail "cpt $* says: $(cat refused.err)"
}

for mode in page empty; do
    say "another server: $mode"
    serve $mode
    refuses 'is not ClickHouse' load "$store" a.cptlog
    refuses 'is not ClickHouse' report "$store"
done

say 'an answer without end'
serve endless
CPT_CLICKHOUSE_MAX_BYTES=1000000
export CPT_CLICKHOUSE_MAX_BYTES
refuses 'more than 1000000 bytes; CPT_CLICKHOUSE_MAX_BYTES' report "$store"
refuses 'more than 1000000 bytes; CPT_CLICKHOUSE_MAX_BYTES' diff --base a=1 --new a=2 "$store"
refuses 'answered what has no answer' load "$store" a.cptlog

say 'a refusal without end'
serve refusal
refuses 'answered 500: no no' report "$store"
refuses 'answered 500: no no' load "$store" a.cptlog

say 'nothing listens: no retry'
refuses 'connect' load --retry-for 3600 clickhouse://127.0.0.1:1/cpt a.cptlog

say 'the first connection is reset'
serve reset
"$CPT" load "$store" a.cptlog >load.out 2>load.err || fail "$(cat load.err)"
grep -q '^[1-9][0-9]* requests$' load.out || fail "$(cat load.out)"
serve reset
refuses '127.0.0.1' load --retry-for 0 "$store" a.cptlog

say 'a server that tells the password'
serve tells
hidden='answered 500: sent Basic \*\*\* which is u:\*\*\*'
CPT_CLICKHOUSE_PASSWORD=hunter2
export CPT_CLICKHOUSE_PASSWORD
for command in report log pprof culprit; do
    "$CPT" $command "clickhouse://u@${store#clickhouse://}" >tells 2>&1 && fail "cpt $command succeeds"
    grep -q hunter2 tells && fail "cpt $command shows the password: $(cat tells)"
    grep -q "$(printf 'u:hunter2' | base64)" tells && fail "cpt $command shows what was sent: $(cat tells)"
    true
done
refuses "$hidden" report "clickhouse://u@${store#clickhouse://}"
refuses "$hidden" load --retry-for 0 "clickhouse://u@${store#clickhouse://}" a.cptlog
