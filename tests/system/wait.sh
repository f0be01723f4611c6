# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# wait.sh - cpt wait: a chain across services, a deadlock of three requests in two
# services, and answers of services that are hostile.
. "$(dirname "$0")/system.sh"
need curl python3

here=$(dirname "$0")
schema=$here/../../docs/schemas
trace=0af7651916cd43dd8448eb211c80319c

# services NAME: new ones, on $a and $b.
services() {
    rm -f "$1.ports"
    start "$1" "$CPT_HELPERS/wait_services" "$1.ports"
    await "$1.ports" .
    read -r a b <"$1.ports"
}
services first

# Times as T, ports as their services.
plain() {
    sed -e 's/[0-9.]* \(ms\|s\)\b/T/g' -e "s/127.0.0.1:$a/AT_A/g" -e "s/127.0.0.1:$b/AT_B/g" "$1"
}

# until COMMAND...: tried again until it succeeds.
until_true() {
    tries=200
    while ! "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || fail "never: $*: $(cat drawn)"
        sleep 0.1
    done
}
drawn_has() {
    "$CPT" wait "127.0.0.1:$a" >drawn && grep -q "$1" drawn
}

say 'nothing runs'
"$CPT" wait "127.0.0.1:$a" >drawn
[ "$(cat drawn)" = 'A: no request runs' ] || fail "drawn: $(cat drawn)"

say 'a chain into the callee, also of a client that sends no trace id'
start slow curl -sS -H "traceparent: 00-$trace-b7ad6b7169203331-00" "http://127.0.0.1:$a/slow"
until_true drawn_has 'B: sleep waits'
cat >expected <<'END'
A /slow, request 1, T
  A: slow waits T for call 'B: /sleep' of http://AT_B/sleep
    B /sleep, request 1, T
      B: sleep waits for timer
END
plain drawn | diff expected - || fail 'the chain differs'
start plain curl -sS "http://127.0.0.1:$a/slow"
until_true drawn_has 'request 2'
until_true drawn_has 'B /sleep, request 2'
"$CPT" wait --fail-if deadlock "127.0.0.1:$a" >drawn || fail 'a deadlock, where there is none'
"$CPT" wait --json "127.0.0.1:$a" | python3 "$here/../cli/json_schema.py" --complete "$schema/wait.json"
curl -sS "http://127.0.0.1:$a/cpt/requests" | python3 "$here/../cli/json_schema.py" --complete "$schema/requests.json"

say 'a request that waits for itself, by way of two others'
services second
start enter curl -sS -H "traceparent: 00-$trace-b7ad6b7169203331-00" "http://127.0.0.1:$a/enter"
until_true drawn_has '^deadlock'
cat >expected <<'END'
A /enter, request 1, T, stuck
  A: enter waits T for call 'B: /check' of http://AT_B/check
    B /check, request 1, T, stuck
      B: check waits T for call 'A: /again' of http://AT_A/again
        A /again, request 2, T, stuck
          A: again waits T for lock 'stock', last taken by A: enter
            A /enter, request 1, see above

deadlock of 3 requests
  A /enter, request 1 waits for B /check, request 1: A: enter for call 'B: /check' of http://AT_B/check
  B /check, request 1 waits for A /again, request 2: B: check for call 'A: /again' of http://AT_A/again
  A /again, request 2 waits for A /enter, request 1: A: again for lock 'stock', last taken by A: enter
END
plain drawn | diff expected - || fail 'the deadlock differs'
status=0
"$CPT" wait --fail-if deadlock "localhost:$a" >drawn || status=$?
[ $status = 3 ] || fail "status $status with a deadlock"
"$CPT" wait --json "127.0.0.1:$a" >json
python3 "$here/../cli/json_schema.py" --complete "$schema/wait.json" <json
python3 - json <<'END' || fail 'the deadlock in JSON differs'
import json, sys
answer = json.load(open(sys.argv[1]))
names = [answer["services"][answer["requests"][i]["service"]]["name"] + answer["requests"][i]["method"]
         for i in answer["deadlocks"][0]]
assert len(answer["deadlocks"]) == 1 and names == ["A/enter", "B/check", "A/again"], names
END

say 'services that are hostile'
rm -f stand_in.ports
start stand_in python3 "$here/wait_stand_in.py" stand_in.ports
await stand_in.ports .
read -r port <stand_in.ports
refused() { # PREFIX STATUS SENTENCE
    status=0
    "$CPT" wait --prefix "$1" "127.0.0.1:$port" >out 2>err || status=$?
    [ $status = "$2" ] && [ -z "$(cat out)" ] && grep -q "$3" err ||
        fail "$1: status $status, $(head -c 300 out err)"
}
refused /nothing 1 'it answers 404'
refused /redirect 1 'it answers 302'
refused /text 1 'not JSON: a value is expected, at byte 0'
refused /cut 1 'its answer is cut'
refused /half 1 'not JSON: .*, at byte'
refused /array 1 'has no requests'
refused /deep 1 'not JSON: containers that are nested too deep'
refused /endless 1 'longer than 8388608 bytes'
refused /no_http 1 'no answer of HTTP'
refused /drop 1 'no answer of HTTP'

say 'names that would command a terminal, targets elsewhere, and waits in circles'
"$CPT" wait --prefix /names "127.0.0.1:$port" >out
[ -z "$(tr -d '[:print:]\n' <out)" ] || fail "control bytes: $(od -c out | head)"
grep -q 'x1b\[2J' out || fail "not escaped: $(cat out)"
grep -q 'not asked: it is not a service of this machine' out || fail "asked: $(cat out)"
"$CPT" wait --prefix /circle "127.0.0.1:$port" >out
[ "$(wc -l <out)" -lt 2000 ] || fail "drawn without end: $(wc -l <out) lines"
"$CPT" wait --prefix /many --json "127.0.0.1:$port" >json
python3 -c 'import json; a = json.load(open("json")); assert len(a["requests"]) == 4096 and a["left_out"] == 904, (len(a["requests"]), a["left_out"])' ||
    fail 'more requests than are looked at'

say 'which request is that of a call'
# leads CASE NUMBERS: the ids of the requests that the call of request 1 leads to; the
# reason is in `reason`.
leads() {
    "$CPT" wait --prefix "/$1" --json "127.0.0.1:$port" >json
    got=$(python3 - json reason <<'END'
import json, sys
answer = json.load(open(sys.argv[1]))
requests = answer["requests"]
wait = next(request for request in requests if request["id"] == 1)["waits"][0]
open(sys.argv[2], "w").write(wait.get("not_followed", ""))
print(*sorted(requests[i]["id"] for i in wait["requests"]))
END
)
    [ "$got" = "$2" ] || fail "$1: leads to '$got', not '$2': $(cat reason)"
}
leads own_span 2
leads branch 3
leads older 3
leads only_older ''
grep -q 'no request there' reason || fail "$(cat reason)"
leads no_ids ''
grep -q 'has no trace id' reason || fail "$(cat reason)"
leads old_callee 2
leads queued ''
grep -q 'not sent yet' reason || fail "$(cat reason)"
leads shared ''
grep -q 'work that requests share' reason || fail "$(cat reason)"
for case in only_older no_ids queued shared; do
    status=0
    "$CPT" wait --prefix "/$case" --fail-if deadlock "127.0.0.1:$port" >out 2>err || status=$?
    [ $status = 1 ] && grep -q 'cannot tell whether there is a deadlock: 1 request' err ||
        fail "$case: status $status, $(cat err)"
    "$CPT" wait --prefix "/$case" --leaf S --fail-if deadlock "127.0.0.1:$port" >out ||
        fail "$case: status $? with --leaf"
done
for case in own_span branch older; do
    "$CPT" wait --prefix "/$case" --fail-if deadlock "127.0.0.1:$port" >out ||
        fail "$case: status $?"
done
echo 'passed'
