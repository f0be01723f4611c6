# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# examples.sh - the examples run and print what they demonstrate.
. "$(dirname "$0")/system.sh"

say '01: the slower of index and ads is on the path, the other is not'
# On a busy machine ads may wait for a worker for longer than index takes: then again.
for _ in $(seq 100); do
    "$CPT_EXAMPLES/01_one_service" >one.out
    grep -q 'A: ads' one.out || break
done
for task in parse index rank render; do
    grep -q "A: /search;A: $task\$" one.out || fail "no $task: $(cat one.out)"
done
! grep -q 'A: ads' one.out || fail "ads is on the path: $(cat one.out)"

say '02: one path across both services'
"$CPT_EXAMPLES/02_two_services" >two.out
grep -q 'A: /search;A: index;B: /lookup;B: look up$' two.out || fail "$(cat two.out)"
grep -q 'B: ‹network+serialization›' two.out || fail "$(cat two.out)"

say '03: what was written is read, also by the tool'
rm -f 03_paths.cptlog
"$CPT_EXAMPLES/03_path_log" >three.out
[ "$(grep -c 'A: /search, arm' three.out)" = 4 ] || fail "$(cat three.out)"
"$CPT" log --check 03_paths.cptlog >/dev/null
"$CPT" diff 03_paths.cptlog --base arm=control --new arm=treatment >diff.out
grep -q 'A: index' diff.out || fail "$(cat diff.out)"

say '04: the tree, and a profile that pprof reads'
rm -f profile.pb.gz
"$CPT_EXAMPLES/04_profile" >four.out
grep -q '0.50 .*A: index' four.out || fail "$(cat four.out)"
[ -s profile.pb.gz ] || fail 'no profile'
if command -v go >/dev/null 2>&1; then
    go tool pprof -unit=ms -top profile.pb.gz >top.out 2>/dev/null || fail 'pprof refuses it'
    grep -q 'A: ads' top.out || fail "$(cat top.out)"
fi

say '05: components have their frames, one for each element'
"$CPT_EXAMPLES/05_components" >five.out
grep -q 'a page of 1200 pixels' five.out || fail "$(cat five.out)"
for stack in 'rank;A: weigh' 'rank;A: sort' 'render;A: thumbnail;A: shrink'; do
    grep -q "A: /search;A: $stack\$" five.out || fail "no $stack: $(cat five.out)"
done

say '06: a page without what could not be had'
"$CPT_EXAMPLES/06_optional_inputs" >six.out
grep -q 'hello, stranger' six.out || fail "$(cat six.out)"
grep -q 'no ads: the callee could not be reached' six.out || fail "$(cat six.out)"

say '07: one load and one batch for four requests'
"$CPT_EXAMPLES/07_shared_work" >seven.out
grep -q 'loads 1, batches 1$' seven.out || fail "$(cat seven.out)"
[ "$(grep -c 'A: /page;A: page;A: cache;A: load$' seven.out)" = 4 ] ||
    fail "$(cat seven.out)"

say '08: two services without a graph, and one path of both'
"$CPT_EXAMPLES/08_by_hand" >eight.out
for stack in 'A: parse' 'A: index;B: /lookup;B: look up' 'A: render'; do
    grep -q "A: /search;$stack\$" eight.out || fail "no $stack: $(cat eight.out)"
done
