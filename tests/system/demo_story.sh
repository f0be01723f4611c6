# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# demo_story.sh [BUSY [DURATION]] - the whole demo, with BUSY processes beside it that use
# all of a processor: it names the slowed component, or says that it is too noisy to tell,
# and never names another one; the segments of every request add up; the profile's sum is
# the mean latency.
. "$(dirname "$0")/system.sh"
need python3

busy=${1:-0}
seed=$(date +%s)
echo "seed $seed, busy $busy"
i=0
while [ $i -lt "$busy" ]; do
    start "busy$i" sh -c 'while :; do :; done'
    i=$((i + 1))
done
begin=$(date +%s)
"$CPT" demo --seed "$seed" --duration "${2:-12s}" --dir out >demo.out 2>demo.err ||
    fail "the demo failed: $(tail -5 demo.err)"
seconds=$(($(date +%s) - begin))
[ $seconds -le 150 ] || fail "it took $seconds s"

say 'it names the slowed component, or says that it cannot tell'
"$CPT" diff --by name --json out/paths.cptlog --base arm=control --new arm=treatment >name.json
python3 - <<'PY'
import json, re
truth = json.load(open("out/truth.json"))
rows = json.load(open("name.json"))["rows"]
text = open("demo.out").read()
named = re.search(r"^Slower: (.*), by ([0-9.]+) ms in", text, re.M)
print("truth:", truth, "named:", named and named.groups(), "first row:", rows[0]["stack"], rows[0]["q"])
if named:
    assert named.group(1) == truth["slowed"], rows[:3]
    row = [r for r in rows if r["stack"] == [truth["slowed"]]][0]
    assert row["q"] < 0.01 and 0.2 * truth["added_ns"] < row["delta_ns"], row
    assert row["low_ns"] <= row["delta_ns"] <= row["high_ns"]
    assert "Too noisy to tell:" not in text
else:
    assert "\nToo noisy to tell:" in text and text.count("once more") == 3, text[-2000:]
    work = [r for r in rows if r["kind"] == "work"]
    assert not [r for r in work if r["q"] < 0.01 and r["delta_ns"] > 0], work[:3]
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
