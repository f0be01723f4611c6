# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# demo_killed.sh - service C is killed under load: users still get replies, the log stays
# readable, the segments of every request add up, and the lost time is a blind spot of C.
. "$(dirname "$0")/system.sh"

start demo "$CPT" demo --seed 5 --duration 9s --dir out
demo=$pid
await demo.err 'of load' 60
c=$(sed -n 's/^  C .*pid \([0-9]*\).*/\1/p' demo.out)
[ -n "$c" ] || fail 'no pid of C'
sleep 4
kill -KILL "$c"
wait "$demo" || fail "the demo ended with $?: $(tail -5 demo.err)"

say 'the users were answered'
grep -q ' 0 of them failed' demo.out || fail "$(grep failed demo.out)"

say 'every request adds up, those without C too'
"$CPT" log --check out/paths.cptlog >check.out || fail "$(cat check.out)"
"$CPT" report out/paths.cptlog >report.out
grep -q 'C: ‹blind spot›' report.out || fail "no blind spot: $(cat report.out)"

say 'no process is left'
for child in $(sed -n 's/^  [ABC] .*pid \([0-9]*\).*/\1/p' demo.out); do
    ! kill -0 "$child" 2>/dev/null || fail "process $child is still there"
done

say 'A itself is killed while it writes: what is in the file can be read'
command -v curl >/dev/null 2>&1 || exit 0
start serve "$CPT" demo --serve --dir killed
await serve.out 'End: ^C'
a=$(sed -n 's/^  A .*\(http:[^ ]*\) .*/\1/p' serve.out)
a_pid=$(sed -n 's/^  A .*pid \([0-9]*\).*/\1/p' serve.out)
records_of() {
    "$CPT" log --check killed/paths.cptlog 2>/dev/null |
        sed -n 's/.* \([0-9]*\) records.*/\1/p'
}
for i in 1 2 3 4 5 6 7 8; do
    start "users$i" sh -c "while curl -s --max-time 5 -o users$i.body '$a/?arm=control'; do :; done"
done
tries=300
while records=$(records_of) && [ "${records:-0}" -lt 10 ] && [ $tries -gt 0 ]; do
    tries=$((tries - 1))
    sleep 0.1
done
kill -KILL "$a_pid"
sleep 0.3
"$CPT" log --check killed/paths.cptlog >killed.check || fail "$(cat killed.check)"
records=$(records_of)
echo "$records records"
[ "$records" -ge 10 ] || fail "only $records records"
