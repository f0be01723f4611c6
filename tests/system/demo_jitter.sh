# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# demo_jitter.sh - random times of the demo: other ones for each request, and the same for
# a request with the same number, also in another run.
. "$(dirname "$0")/system.sh"
need curl python3

# a1_of TARGET: the least time of A1 on the path in five requests, in ms: a busy machine
# only adds to it
a1_of() {
    for i in 1 2 3 4 5; do
        ask "$a$1" asked 'critical-path: 1;forced'
        "$CPT" metadata --json "$(path_of asked)"
    done | python3 -c '
import json, sys
print(min(sum(s["duration_ns"] for s in json.loads(line)["segments"] if s["stack"][-1] == "A: A1") / 1e6
          for line in sys.stdin.read().replace("}\n{", "}\0{").split("\0")))'
}

# run NAME OPTION...: the times of some requests, one a line, in NAME.times
run() {
    name=$1
    shift
    start "$name" "$CPT" demo --serve --dir "$name" "$@"
    await "$name.out" 'End: ^C'
    a=$(sed -n 's/^  A .*\(http:[^ ]*\).*/\1/p' "$name.out")
    for number in 1 8 6; do
        a1_of "/?n=$number"
    done >"$name.times"
    kill -INT "$pid"
    wait "$pid" || fail "the demo ended with $?"
}

say 'two runs with the same jitter, and one without'
run one --jitter 1
run two --jitter 1
run plain
paste one.times two.times plain.times
paste one.times two.times plain.times | awk '
    BEGIN { split("8.180 11.716 3.941", expected) }
    function is_near(time, ms) { return time >= ms && time < ms + 2.5 }
    { right += is_near($1, expected[NR]) && is_near($2, expected[NR]) && is_near($3, 13) }
    END { exit right != 3 }' || fail 'A1 takes 8.180, 11.716, 3.941 ms with jitter, and 13 without'
