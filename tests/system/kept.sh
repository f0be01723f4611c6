# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# kept.sh - graphs that services of real processes keep: all logs together give each
# request its latency to the nanosecond, also without the log of one service; settings
# keep a part of them; who does not know of graphs is a constant; a person asks for one.
. "$(dirname "$0")/system.sh"
need curl python3
a_program=$CPT_EXAMPLES/figure1_a
b_program=$CPT_EXAMPLES/figure1_b
c_program=$CPT_EXAMPLES/figure1_c

# number FILE KEY: of a JSON document.
number() {
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$1" "$2"
}
# frames FILE: names of the frames, one a line.
frames() {
    python3 -c '
import json, sys
for frame in json.load(open(sys.argv[1]))["frames"]:
    print(frame["name"], frame["kind"])' "$1"
}
# is_exact FILE LOG REQUESTS: each dag has the latency of its record, and all together
# that of the path log.
is_exact() {
    [ "$(number "$1" requests)" = "$3" ] || fail "$1: $(number "$1" requests) requests"
    [ "$(number "$1" inexact)" = 0 ] || fail "$1: a dag has not the latency of its request"
    "$CPT" log --json "$2" | python3 -c '
import json, sys
records = [json.loads(line) for line in sys.stdin if line.strip()]
mean = sum(record["latency_ns"] for record in records) / len(records)
told = json.load(open(sys.argv[1]))["latency_ns"]
assert abs(mean - told) < 1, (mean, told)' "$1" || fail "$1: another latency"
}

say 'the demo keeps the graph of each request'
rm -rf out
start demo "$CPT" demo --serve --graphs --dir out
demo=$pid
await demo.out 'End: ^C'
a=$(sed -n 's/^  A .*\(http:[^ ]*\).*/\1/p' demo.out)
for page in / '/?page=search' /overlap /forms '/repeat?how=serial'; do
    curl -s --max-time 20 -o reply "$a$page" && curl -s --max-time 20 -o reply "$a$page"
done
kill "$demo"
wait "$demo" || fail "the demo ended with $?"
"$CPT" slack --json out/*.cptgraph >all.json 2>all.err
is_exact all.json out/paths.cptlog 10
! grep -q 'constant length' all.err || fail "$(cat all.err)"
frames all.json >all.frames
grep -q '^B: B1 work' all.frames && grep -q '^C: C1 work' all.frames ||
    fail "no frames of callees: $(cat all.frames)"

say 'without the log of B its calls are constants'
"$CPT" slack --json out/A.cptgraph out/C.cptgraph >part.json 2>part.err
is_exact part.json out/paths.cptlog 10
grep -q 'constant length' part.err || fail "$(cat part.err)"
frames part.json >part.frames
! grep -q '^B: B1 work' part.frames || fail 'B is there'
grep -q '^B: /B1 call' part.frames || fail "no call of B: $(cat part.frames)"

say 'settings keep about one in four; C does not know of graphs'
rm -f ./*.cptgraph
printf 'graph = 4\n' >conf
start c "$c_program"
start b "$b_program" --c "$(url c)" --graphs B.cptgraph
b=$pid
start a "$a_program" --b "$(url b)" --c "$(url c)" --graphs A.cptgraph --settings conf \
    --log A.cptlog --probability 1
a=$pid
url=$(url a)
await a.err 'settings taken'
curl -s -Z --parallel-max 20 -o 'reply#1' "$url/?i=[1-200]" 2>progress
ask "$url/" asked 'critical-path: 1;forced;graph="00000000000000ff"'
[ -n "$(path_of asked)" ] || fail 'asked, and no path came'
kill $a && wait $a || fail "A ended with $?"
kill $b && wait $b || fail "B ended with $?"
"$CPT" slack --json ./*.cptgraph >some.json 2>some.err
kept=$(number some.json requests)
[ "$kept" -ge 14 ] && [ "$kept" -le 88 ] || fail "$kept of 201 kept" # 6 standard deviations
[ "$(number some.json inexact)" = 0 ] || fail 'a dag has not the latency of its request'
grep -q 'constant length' some.err || fail "$(cat some.err)"
frames some.json >some.frames
grep -q '^B: B1 work' some.frames || fail 'B kept nothing'
! grep -q '^C: C1 work' some.frames || fail 'C kept a graph'
