# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# collect_alike.sh [SEED] - the same spans through cpt import, as JSON and as protobuf, and
# through cpt collect, in any requests: the same records, reasons and counts, whatever is
# wrong with the spans.
. "$(dirname "$0")/system.sh"
need python3
maker="$(dirname "$0")/collect_alike.py"
seed=${1:-$(date +%s)}
say "seed $seed"

# told NAME: the messages of NAME.err in an order of their own, and how much it was.
told()
{
    sed 's/; [0-9]* records written$//; s/^cpt: //' "$1.err" | sort
}

rm -rf requests logs ./*.cptlog
python3 "$maker" make "$seed" 600 spans.json spans.pb
"$CPT" import -o json.cptlog spans.json 2>json.err
"$CPT" import -o protobuf.cptlog spans.pb 2>protobuf.err
start collect "$CPT" collect -o logs --port 0 --priority normal --quiet 600s --age 600s
await collect.out 'Ctrl-C ends it'
port=$(sed -n 's|.*http://127.0.0.1:\([0-9]*\)/v1/traces.*|\1|p' collect.out)
python3 "$maker" send "$seed" 600 "$port"
kill -TERM "$pid"
wait "$pid" || fail "it ended with $?: $(cat collect.err)"

"$CPT" log --json json.cptlog 2>/dev/null | sort >json.records
"$CPT" log --json protobuf.cptlog 2>/dev/null | sort >protobuf.records
"$CPT" log --json logs 2>/dev/null | sort >collect.records
[ -s json.records ] || fail 'no records'
for words in 'without a time' 'with the id of another' 'nothing waited for' 'parent is not in' \
    'below another root' 'outside of their' 'cut to the time' 'without an id' \
    'no span can be the root' 'took no time' 'the clock of host' 'the clock of service'; do
    grep -q "$words" json.err || fail "the spans do not try '$words': $(cat json.err)"
done
for name in protobuf collect; do
    cmp json.records $name.records || fail "$name: other records"
    told json >json.told
    told $name | grep -v '^[0-9]* % of the requests' >$name.told
    diff json.told $name.told || fail "$name: other words"
done
say "$(grep -c . json.records) records: $(tr '\n' ';' <json.told)"
