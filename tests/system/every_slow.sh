# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# every_slow.sh - docs/sampling.md, "Every slow request", with the services of the demo: all
# requests are traced, those that were slow are logged, with weight 1; the first with what
# little its callees were asked for, the next ones with all.
. "$(dirname "$0")/system.sh"
need curl python3

rm -f ./*.cptlog
start C "$CPT_EXAMPLES/figure1_c" --port 0
C=$(url C)
start B "$CPT_EXAMPLES/figure1_b" --port 0 --c "$C"
B=$(url B)
# A2 is slow in the arm treatment, before it calls others: they have 2 s.
printf '%s\n' 'probability = 0' 'glance_bytes = 40' 'whole_time = 3600s' \
    'rule slow = owner test; until 2099-12-31; latency > 2s' >conf
start A "$CPT_EXAMPLES/figure1_a" --port 0 --b "$B" --c "$C" --log a.cptlog \
    --probability 0 --settings conf --slow A2=2200000
a=$pid
A=$(url A)
grep -q 'settings taken' A.err || fail "$(cat A.err)"

ask() {
    curl -s -o "reply$1" "$A/?page=home&arm=$1"
}
counter() {
    curl -s "$1/cpt/metrics" | awk -v name="cpt_$2" '
        $1 ~ "^" name "(_total)?({|$)" { sum += $2 } END { print sum + 0 }'
}

say 'six requests are fast, three are slow'
for i in 1 2 3 4; do
    ask control
done
ask treatment
ask treatment &
second=$!
ask treatment
wait $second
ask control
ask control
kept=$(counter "$A" kept_by_rule)
[ "$(counter "$A" traced)" = 9 ] || fail "$(counter "$A" traced) were traced"
[ $((kept + $(counter "$A" dropped_at_end))) = 9 ] || fail "$kept were kept"
[ $(($(counter "$A" asked_little) + $(counter "$A" asked_whole))) = 9 ] || fail 'asked'
[ "$(counter "$A" asked_whole)" -ge 2 ] || fail 'none asked for all'
kill "$a"
wait "$a" || true

say 'what was slow is logged, and nothing else'
"$CPT" log --check a.cptlog
"$CPT" log --json a.cptlog >records
python3 - "$kept" <<'END'
import json, sys

records = sorted((json.loads(line) for line in open("records")), key=lambda r: r["start_unix_ns"])
slow = [r for r in records if r["meta"].get("arm") == "treatment"]
assert len(records) == int(sys.argv[1]), len(records)
assert len(slow) == 3, len(slow)
for record in records:
    assert record["latency_ns"] > 2e9, record  # also a fast one, on a busy machine
    assert record["probability"] == 1 and record["random"] and not record["forced"], record
    assert sum(s["duration_ns"] for s in record["segments"]) == record["latency_ns"], record

def parts(record):
    """The frames of other services, but for the calls of them."""
    frames = {frame for s in record["segments"] for frame in s["stack"]}
    return {f for f in frames if f[:3] in ("B: ", "C: ") and f[3] != "/" and "\u2039" not in f}

print("   first:", sorted(parts(records[0])), "then:", *(sorted(parts(r)) for r in slow[1:]))
assert not parts(records[0]), records[0]
for record in slow[1:]:
    assert parts(record), record
END
