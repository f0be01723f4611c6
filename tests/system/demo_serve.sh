# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# demo_serve.sh - requests to the services by hand: a request that asks for a path gets it
# in a header, any other gets the same reply without it; Figure 2c and the repeated calls;
# all processes end with the tool.
. "$(dirname "$0")/system.sh"
need curl

start demo "$CPT" demo --serve --dir out
demo=$pid
await demo.out 'End: ^C'
a=$(sed -n 's/^  A .*\(http:[^ ]*\).*/\1/p' demo.out)
children=$(sed -n 's/^  [ABC] .*pid \([0-9]*\).*/\1/p' demo.out)
[ "$(echo "$children" | wc -w)" = 3 ] || fail "three services, not: $children"

say 'the line that it prints works'
line=$(sed -n "s|^ *\\(curl .* metadata\\)$|\\1|p" demo.out)
[ -n "$line" ] || fail 'no curl line with metadata'
tool=${line##*| }
(cd "$(dirname "$CPT")" && eval "${line%| *}") >line.head
[ -n "$tool" ]
"$CPT" metadata <line.head >line.out || fail 'cpt metadata does not read a head'
grep -q 'A: A1' line.out || fail "no A1 in $(cat line.out)"

say 'asked: the header is there; not asked: nothing else differs'
ask "$a/" asked 'critical-path: 1;forced'
ask "$a/" plain
[ -n "$(path_of asked)" ] || fail 'asked, and no path came'
[ -z "$(path_of plain)" ] || fail 'not asked, and a path came'
cmp asked.body plain.body
grep -qi '^vary: critical-path' asked || fail 'a cache would take it for everyone'
for head in asked plain; do
    tr -d '\r' <$head | grep -viE '^(date|critical-path-bin|vary):' >$head.rest
done
cmp asked.rest plain.rest || fail "the heads differ: $(diff asked.rest plain.rest)"

say 'a malformed ask counts as none'
ask "$a/" wrong 'critical-path: yes please'
[ -z "$(path_of wrong)" ] || fail 'malformed, and a path came'
grep -q '200' wrong

# stacks FILE: the stacks of a head's path with their milliseconds, as lines "ms stack".
stacks() {
    "$CPT" metadata --json "$(path_of "$1")" | python3 -c '
import json, sys
for segment in json.load(sys.stdin)["segments"]:
    print("%.3f %s" % (segment["duration_ns"] / 1e6, ";".join(segment["stack"])))'
}
need python3

# shows TARGET NAME AWK: the path of a request satisfies AWK. A busy machine may delay
# anything, so there are a few tries.
shows() {
    for _ in 1 2 3 4 5; do
        ask "$a$1" "$2" 'critical-path: 1;forced'
        stacks "$2" >"$2.stacks"
        awk "$3" "$2.stacks" && return 0
    done
    fail "$2: $(cat "$2.stacks")"
}

say 'Fig 2b: B1 is on the path, A2 is not'
shows / home '
    $0 ~ /A: A1;B: \/B1;B: B1;B: B2;C: \/C1;C: C1$/ { b1 = 1 }
    $0 ~ /A: A2/ { a2 = 1 }
    END { exit !(b1 && !a2) }'

say 'the other page: A2 and C2 are on the path, B1 is not'
shows '/?page=search' search '
    $0 ~ /A: A1;A: A2;C: \/C2;C: C2;C: C1$/ { c2 = 1 }
    $0 ~ /B: B1/ { b1 = 1 }
    END { exit !(c2 && !b1) }'

say 'the other forms: pause, lock, count, the longest score, B2 are there, nothing else'
shows /forms forms '
    $0 ~ /;A: count;A: pause$/ { pause = $1 }
    $0 ~ /;A: count;A: ‹lock: totals›$/ { lock = $1 }
    $0 ~ /;A: count$/ { count += $1 }
    $0 ~ /;A: A1;A: score;A: weigh$/ { score += $1 }
    $0 ~ /;A: A1;B: \/B2;B: B2;C: \/C1;C: C1$/ { b2 = 1 }
    $0 ~ /;A: (hold|news)$/ || $0 ~ /hedge/ { other = 1 }
    END {
        exit !(pause >= 3 && lock >= 5 && lock <= 8 && count >= 2 && score >= 5 && b2 && !other)
    }'
grep -q 'a page without news' forms.body || fail "$(cat forms.body)"
"$CPT" metadata --json "$(path_of forms)" >forms.json
grep -q '"holder": *"A: hold"' forms.json || fail "no holder of the lock: $(cat forms.json)"

say 'Fig 2c: A1 3, B1 14, A1 10; what A1 computed meanwhile is not there'
shows /overlap overlap '
    $0 ~ /;A: A1$/ { if (called) after += $1; else before += $1 }
    $0 ~ /;B: \/B1/ { called = 1; b1 += $1 }
    { sum += $1 }
    END {
        printf "A1 %.1f, B1 %.1f, A1 %.1f, in all %.1f\n", before, b1, after, sum
        exit !(before >= 3 && before < 8 && b1 >= 14 && after >= 10 &&
               sum >= 27 && before + b1 + after > 0.95 * sum)
    }'

say '200 calls at once: the slow one alone carries the time'
shows /repeat repeat '
    $0 ~ /C: C1$/ { count++; c1 += $1 }
    { sum += $1 }
    END {
        printf "%d segments of C1, %.1f of %.1f ms\n", count, c1, sum
        exit !(count == 1 && c1 >= 60)
    }'

say '200 calls one after the other: all of them are on the path'
shows '/repeat?how=serial' serial '
    $0 ~ /C: C1$/ { c1 += $1 }
    END { exit !(c1 >= 80) }'

say 'forced requests are in the log, apart'
sleep 1
"$CPT" log --check out/paths.cptlog >check.out
"$CPT" log --json out/paths.cptlog | grep -c '"forced": *true' >forced || true
[ "$(cat forced)" -ge 4 ] || fail "$(cat forced) forced records"

say 'SIGTERM ends the tool and its services'
kill -TERM "$demo"
wait "$demo" || fail "the demo ended with $?"
for child in $children; do
    ! kill -0 "$child" 2>/dev/null || fail "process $child is still there"
done

say 'who was in the way of the page /forms: hold, which had the lock, first of all'
"$CPT" contention --json --include-forced --where 'method == "/forms"' out/paths.cptlog >contention.json
python3 -c '
import json
first = json.load(open("contention.json"))["culprits"][0]
assert (first["culprit"], first["kind"], first["resource"]) == ("A: hold", "lock", "totals"), first
assert first["mean_ns"] >= 5e6, first'
