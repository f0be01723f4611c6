# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# demo_story.sh - the whole demo: the first row of the diff, by stack and by name, is the
# slowed component; the segments of every request add up; the profile's sum is the mean
# latency.
. "$(dirname "$0")/system.sh"
need python3

seed=${1:-$(date +%s)}
echo "seed $seed"
begin=$(date +%s)
"$CPT" demo --seed "$seed" --duration 12s --dir out >demo.out 2>demo.err ||
    fail "the demo failed: $(tail -5 demo.err)"
seconds=$(($(date +%s) - begin))
[ $seconds -le 60 ] || fail "it took $seconds s"

say 'the first row of the diff is the slowed component'
python3 - <<'PY'
import json
truth = json.load(open("out/truth.json"))
rows = json.load(open("out/diff.json"))["rows"]
first = rows[0]
print("truth:", truth, "first row:", first["stack"][-1], first["delta_ns"])
assert first["stack"][-1] == truth["slowed"], rows[:3]
assert first["low_ns"] <= first["delta_ns"] <= first["high_ns"]
everywhere = sum(r["delta_ns"] for r in rows if r["stack"][-1] == truth["slowed"])
assert 0.2 * truth["added_ns"] < everywhere < 2 * truth["added_ns"], everywhere
PY

say 'by name it is the first row too, over all its callers'
"$CPT" diff --by name --json out/paths.cptlog --base arm=control --new arm=treatment >name.json
python3 - <<'PY'
import json
truth = json.load(open("out/truth.json"))
rows = json.load(open("name.json"))["rows"]
first = rows[0]
print("first row:", first["stack"], first["delta_ns"], "q", first["q"])
assert first["stack"] == [truth["slowed"]], rows[:3]
assert first["delta_ns"] > 0, rows[:3]
PY

say 'every request adds up'
"$CPT" log --check out/paths.cptlog >check.out || fail "$(cat check.out)"
"$CPT" log --json out/paths.cptlog >log.jsonl
python3 - <<'PY'
import json
count = 0
for line in open("log.jsonl"):
    record = json.loads(line)
    assert sum(s["duration_ns"] for s in record["segments"]) == record["latency_ns"]
    assert record["service"] == "A" and record["probability"] == 1
    if not record["forced"]:
        count += 1
        assert record["meta"]["arm"] in ("control", "treatment")
        assert record["meta"]["page"] in ("home", "search") and record["meta"]["region"]
print(count, "requests")
assert count >= 200
PY

say 'the profile sums to the mean latency of the report'
command -v go >/dev/null 2>&1 || { echo 'go is not installed: no pprof'; exit 0; }
for arm in control treatment; do
    "$CPT" report --json --where "arm=$arm" out/paths.cptlog >report.json
    go tool pprof -unit=ns -nodefraction=0 -nodecount=100000 -top "out/$arm.pb.gz" >top.out 2>/dev/null
    python3 - <<'PY'
import json, re
rows = json.load(open("report.json"))["rows"]
mean = sum(r["self_ns"] for r in rows)
total = re.search(r"(\d+)ns total", open("top.out").read())
flat = sum(int(m) for m in re.findall(r"^ *(\d+)ns? .*%", open("top.out").read(), re.M))
print("report", mean, "pprof", total.group(1), "rows", flat)
assert abs(int(total.group(1)) - mean) <= 1 and abs(flat - mean) <= 1
PY
done
grep -q 'pprof -unit=ms -nodefraction=0 -edgefraction=0 -top' demo.out
