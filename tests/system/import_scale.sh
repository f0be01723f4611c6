# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# import_scale.sh - a chain and a fan-out of a million spans, and traces without end from a
# pipe, with little memory; a trace that is too large is refused, not read.
. "$(dirname "$0")/system.sh"

[ -z "${CPT_SANITIZE:-}" ] || { echo 'skipped: sanitizers need more memory'; exit 77; }

# spans COUNT chain|fan: one trace, a span a line
spans() {
    awk -v count="$1" -v shape="$2" 'BEGIN {
        for (i = 1; i <= count; i++) {
            parent = i == 1 ? "" : sprintf(",\"parentId\":\"%x\"", shape == "chain" ? i - 1 : 1)
            long = i == 1 || shape == "chain"
            printf "{\"traceId\":\"1\",\"id\":\"%x\"%s,\"name\":\"op\",\"timestamp\":%d,\"duration\":%d}\n",
                i, parent, i, long ? 4 * count - 2 * i : 1
        }
    }'
}

# the megabytes of memory that `cpt` may have
limited() {
    (ulimit -v $(($1 * 1024)) && shift && "$CPT" "$@")
}

for shape in chain fan; do
    spans 1000000 $shape | limited 1200 import -o $shape.cptlog - 2>said || fail "$shape: $(cat said)"
    grep -q '1 traces of 1000000 spans' said || fail "$shape: $(cat said)"
done

# the same trace, with a limit: it is counted, and the next one is read
{
    spans 1000000 chain
    echo '{"traceId":"2","id":"1","name":"small","timestamp":5,"duration":7}'
} | limited 300 import --trace-limit 50 -o limited.cptlog - 2>said && fail 'no limit'
grep -q '1 traces left out that are larger than --trace-limit' said || fail "$(cat said)"
[ "$("$CPT" log limited.cptlog | grep -c small)" = 1 ] || fail 'the small trace is gone'

# a trace in one piece that is larger is passed over without being kept
{
    printf '[[{"traceId":"1","id":"1","name":"'
    head -c 400000000 /dev/zero | tr '\0' a
    printf '"}],\n[{"traceId":"2","id":"1","name":"small","timestamp":5,"duration":7}]]'
} | limited 200 import --trace-limit 10 -o piece.cptlog - 2>said && fail 'no limit'
grep -q 'longer than 10000000 bytes' said || fail "$(cat said)"
[ "$("$CPT" log piece.cptlog | grep -c small)" = 1 ] || fail 'the small trace is gone'

# hundreds of megabytes of traces
spans 40 fan | tr '\n' ',' | sed 's/,$//; s/.*/[&],/' >trace
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    cat trace trace >twice && mv twice trace
done
{
    printf '['
    for i in $(seq 1 "${1:-40}"); do
        cat trace
    done
    printf '[]]'
} | limited 200 import -o /dev/null - 2>said || fail "$(cat said)"
cat said
