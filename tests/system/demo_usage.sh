# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# demo_usage.sh - the errors of the demo, and that ^C leaves no process.
. "$(dirname "$0")/system.sh"

# refuses STATUS SENTENCE ARGUMENT...
refuses() {
    expected=$1
    sentence=$2
    shift 2
    status=0
    "$CPT" demo "$@" >refused.out 2>refused.err || status=$?
    [ $status = "$expected" ] || fail "demo $*: status $status: $(cat refused.err)"
    grep -q "$sentence" refused.err || fail "demo $*: $(cat refused.err)"
}

say 'mistakes on the command line'
refuses 2 "needs a number and s or m" --duration 5
refuses 2 "is not between 1s and 60m" --duration 0.5s
refuses 2 "is not between 1s and 60m" --duration 61m
refuses 2 "needs a whole number" --seed many
refuses 2 "needs a whole number up to 65535" --port 65536
for sigma in 0 -0.3 2.1 nan inf 0.3x ''; do
    refuses 2 "is not a number above 0, at most 2" "--jitter=$sigma"
done
refuses 2 "one too many" somewhere
[ ! -e demo-out ] || fail 'a mistake left files'

say 'probabilities of a service that are none'
for probability in 17 1.0001 -1 nan inf 0.1x ''; do
    status=0
    "$CPT_EXAMPLES/figure1_a" --probability "$probability" >refused.out 2>refused.err || status=$?
    [ $status = 2 ] || fail "probability '$probability': status $status"
    grep -q 'is not from 0 to 1' refused.err || fail "$(cat refused.err)"
done

for sigma in 2.1 -1 nan x ''; do
    status=0
    "$CPT_EXAMPLES/figure1_b" --jitter "$sigma" >refused.out 2>refused.err || status=$?
    [ $status = 2 ] || fail "jitter '$sigma': status $status"
    grep -q 'is not from 0 to 2' refused.err || fail "$(cat refused.err)"
done

say 'a folder that cannot be made, a tool without its services, a port that is taken'
: >file
refuses 1 "file/out" --dir file/out
mkdir -p alone
cp "$CPT" alone/cpt
if ! alone/cpt demo --dir out >alone.out 2>alone.err; then
    grep -q 'no program figure1_c\|libcpt' alone.err || fail "$(cat alone.err)"
fi
start first "$CPT" demo --serve --dir first
first=$pid
await first.out 'End: ^C'
port=$(sed -n 's/^  A .*127.0.0.1:\([0-9]*\).*/\1/p' first.out)
refuses 1 "service A ended while starting" --serve --port "$port" --dir second

say '^C in the middle ends all of it'
start demo "$CPT" demo --duration 60s --dir out
demo=$pid
await demo.err 'of load' 60
kill -INT "$first" "$demo"
wait "$first" || fail "serving ended with $?"
status=0
wait "$demo" || status=$?
[ $status = 1 ] || fail "an interrupted demo ended with $status"
for child in $(sed -n 's/^  [ABC] .*pid \([0-9]*\).*/\1/p' first.out demo.out); do
    ! kill -0 "$child" 2>/dev/null || fail "process $child is still there"
done
