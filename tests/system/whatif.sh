# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# whatif.sh - what slowed the treatment arm of the demo is undone in its graphs: that predicts
# the mean of the control arm
#
# CPT_WHATIF_RUNS=20 sh whatif.sh: as many runs, each with another component; at least 19 of 20
# predictions must be right (one run fails only if it is far off). The difference of prediction
# and mean has two errors, those of both samples of requests; the prediction is right if it is
# within 1.96 of them together.
. "$(dirname "$0")/system.sh"
need curl python3

runs=${CPT_WHATIF_RUNS:-1}
slow_us=4000
rounds=12 # of 12 requests: 2 arms, 2 pages, 3 regions
[ "$runs" -eq 1 ] || rounds=25

# run COMPONENT SERVICE: the services with it slowed, the requests, the prediction.
run() {
    rm -f a.cptlog spans.jsonl
    first=$started
    for letter in c b a; do
        slow=
        [ "$2" != "$letter" ] || slow="--slow $1=$slow_us"
        case $letter in
        c) calls= ;;
        b) calls="--c $c" ;;
        a) calls="--b $b --c $c --log a.cptlog --probability 1" ;;
        esac
        # shellcheck disable=SC2086
        start "$letter" "$CPT_EXAMPLES/figure1_$letter" --spans "$letter.jsonl" $slow $calls
        await "$letter.out" 'http://'
        eval "$letter=$(sed -n 's/^. \(http[^ ]*\).*/\1/p' "$letter.out")"
    done
    for round in $(seq $rounds); do
        for region in eu us ap; do
            for page in home search; do
                for arm in control treatment; do
                    printf 'url = "%s/?arm=%s&page=%s&region=%s"\noutput = "page"\n' "$a" $arm $page $region
                done
            done
        done
    done >urls
    curl -s --config urls
    for pid in $started; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" || true
    done
    started=$first
    cat a.jsonl b.jsonl c.jsonl >spans.jsonl
    rm a.jsonl b.jsonl c.jsonl
    "$CPT" log --json a.cptlog >log.json
    # The spans of each arm: the log says which trace is of which.
    python3 - <<'END'
import json, re
arms = {}
for line in open("log.json"):
    record = json.loads(line)
    if "meta" in record and not record.get("local_root"):
        arms[record["trace_id"]] = record["meta"]["arm"]
files = {arm: open(arm + ".jsonl", "w") for arm in ("control", "treatment")}
for line in open("spans.jsonl"):
    trace = re.search(r'"traceId":"([0-9a-f]*)"', line).group(1)
    if trace in arms:
        files[arms[trace]].write(line)
END
    upper=$(echo "$2" | tr a-z A-Z)
    "$CPT" whatif --json --set "$upper: $1=-${slow_us}us" treatment.jsonl >treatment.json || fail 'no prediction'
    "$CPT" whatif --json control.jsonl >control.json || fail 'the control arm cannot be replayed'
    python3 - "$1" $rounds <<'END'
import json, math, sys
rounds = int(sys.argv[2])
def read(name):
    found = json.load(open(name + ".json"))
    return found, found["latency"]["mean"]["after_ns"] / 1e6
def deviation(arm):
    times = [json.loads(line) for line in open("log.json")]
    times = [r["latency_ns"] / 1e6 for r in times
             if not r.get("local_root") and r.get("meta", {}).get("arm") == arm]
    mean = sum(times) / len(times)
    return math.sqrt(sum((t - mean) ** 2 for t in times) / (len(times) - 1) / len(times))
control, mean = read("control")
treatment, predicted = read("treatment")
assert control["requests"] == treatment["requests"] == 6 * rounds, (control["requests"], treatment["requests"])
assert control["latency"]["mean"]["change_ns"] == 0, "no change is a change"
error = math.hypot(deviation("control"), deviation("treatment"))
slower = treatment["latency"]["mean"]["before_ns"] / 1e6
right = abs(predicted - mean) <= 1.96 * error
far = abs(predicted - mean) > 5 * error
alone = abs(predicted - mean) <= 1.96 * deviation("control")
print("%s: treatment %.3f ms, undone %.3f ms, control %.3f ms +- %.3f: %s%s" % (
    sys.argv[1], slower, predicted, mean, 1.96 * error, "right" if right else "far off" if far else "off",
    "" if alone else ", not within the interval of the control arm alone"))
END
}

say "the mean of the control arm, predicted from the treatment arm, $runs times"
: >found
number=0
while [ $number -lt "$runs" ]; do
    case $((number % 6)) in
    0) run B2 b ;;
    1) run C1 c ;;
    2) run A1 a ;;
    3) run C2 c ;;
    4) run B1 b ;;
    5) run A2 a ;;
    esac >>found
    tail -n 1 found
    number=$((number + 1))
done
right=$(grep -c 'right' found || true)
say "$right of $runs are right"
[ $((right * 20)) -ge $((runs * 19)) ] || [ "$runs" -lt 20 ] || fail 'too few predictions are right'
! grep -q 'far off' found || fail 'a prediction is far off'
