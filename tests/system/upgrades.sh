# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# upgrades.sh SOURCE MAKE_LOG - this version and release 0.1 mix: what each writes the other
# reads, on the wire, in logs and in trees. Release 0.1 is release_0_1.py, and its kept
# bytes in tests/data.
. "$(dirname "$0")/system.sh"
need curl python3
source=$1
make_log=$2
kept=$source/tests/data

old() {
    python3 "$source/tests/system/release_0_1.py" "$@"
}

say '0.1 reads what this version logs, also why requests failed'
for variant in experiment few services failures untraced; do
    "$make_log" $variant >$variant.cptlog
    old log $variant.cptlog >$variant.old || fail "0.1 does not read $variant"
    "$CPT" log --json $variant.cptlog 2>/dev/null >$variant.new
    python3 - $variant <<'PY' || fail "$variant: 0.1 reads other records"
import json, sys
old = [json.loads(line) for line in open(sys.argv[1] + ".old")]
new = [json.loads(line) for line in open(sys.argv[1] + ".new")]
assert len(old) == len(new), (len(old), len(new))
for one, other in zip(old, new):
    for key in ("service", "method", "entry", "latency_ns", "status", "failed"):
        assert one[key] == other[key], (key, one, other)
    assert one["attributes"] == other["meta"], (one, other)
    assert one["segments"] == len(other["segments"])
PY
done
grep -q '"failure": "deadline"' failures.old || fail 'no reason in a record'

say '0.1 reads paths with what was added later: the same segments'
for file in drags nonce; do
    for one in document $file; do
        old metadata "$(base64 -w 0 "$kept/metadata/v1/$one.bin" | tr -d =)" >$one.old ||
            fail "0.1 does not read $one"
    done
    [ -s document.old ] || fail 'no segments'
    cmp document.old $file.old || fail "0.1 reads other segments in $file"
done

say 'this version reads kept logs, trees and metadata of 0.1'
for file in "$kept"/path-log/v1/*.cptlog; do
    "$CPT" log --json "$file" >kept.new 2>/dev/null || fail "$file"
    [ -s kept.new ] || [ ! -s "${file%.cptlog}.expect" ] || fail "$file has no records now"
done
for file in "$kept"/tree/v1/*.cpttree; do
    [ "$(old tree "$file")" = yes ] || fail "$file is not of 0.1"
    "$CPT" merge -o kept.cpttree "$file" 2>/dev/null || fail "$file"
    cmp kept.cpttree "$file" || fail "$file is written in other bytes"
done

say 'and writes trees that 0.1 reads, if asked to'
"$CPT" aggregate -o new.cpttree experiment.cptlog 2>/dev/null
"$CPT" aggregate --tree-version 1 -o first.cpttree experiment.cptlog 2>/dev/null
"$CPT" merge --tree-version 1 -o merged.cpttree new.cpttree 2>/dev/null
[ "$(old tree new.cpttree)" = 'no: version 2' ] || fail 'a tree is of another version'
for file in first merged; do
    [ "$(old tree $file.cpttree)" = yes ] || fail "$file: $(old tree $file.cpttree)"
    "$CPT" folded $file.cpttree >$file.folded 2>/dev/null || fail "$file is not read"
done
"$CPT" folded new.cpttree 2>/dev/null | cmp - first.folded
cmp first.folded merged.folded

say 'services: a caller of this version and a callee of 0.1, and the other way round'
bytes=$(find "$kept/metadata/v1" -name '*.bin' | sort | head -1)
start callee python3 "$source/tests/system/release_0_1.py" serve "$bytes"
c=$(url callee)
start b "$CPT_EXAMPLES/figure1_b" --c "$c"
b=$(url b)
start a "$CPT_EXAMPLES/figure1_a" --b "$b" --c "$c" --probability 1 --log a.cptlog
a=$(url a)
for _ in 1 2 3 4 5; do
    ask "$a/" asked 'critical-path: 1;max=2048;forced' # as 0.1 asks
    old metadata "$(path_of asked)" >asked.old || fail '0.1 does not read the path'
    # What the callee says is scaled to the call, or an excess is cut: its frames are there.
    grep -q 'A: A1;B: B1' asked.old && break
done
grep -q 'A: A1' asked.old || fail "$(cat asked.old)"
grep -q '^ask 1' callee.out || fail 'the callee is not asked as 0.1 understands it'
curl -s "$a/cpt/counters" >a.counters
grep -q '"name":"blind_spots".*"member":"undecodable".*"value":[1-9]' a.counters &&
    fail 'a path of 0.1 is not decoded'
"$CPT" metadata --json "$(path_of asked)" | python3 -c '
import json, sys
for segment in json.load(sys.stdin)["segments"]:
    print(segment["duration_ns"])' >asked.new
cut -d' ' -f1 asked.old | cmp - asked.new || fail '0.1 reads other durations'
say 'all is well'
