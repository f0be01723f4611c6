# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# every_command.sh - every command of the tool, over a shop that uses verbs, parameters of
# paths, TLS, gRPC and ports for operators: nothing is lost, and no name is broken. A command
# that is new fails here until it is added.
. "$(dirname "$0")/system.sh"
need curl openssl python3

here=$(dirname "$0")
schema=$here/../../docs/schemas
trace=0af7651916cd43dd8448eb211c80319c
commands= # those that were run

# run COMMAND ARGUMENTS...: its output in `out` and `err`, its status in $status.
run() {
    commands="$commands $1"
    status=0
    "$CPT" "$@" >out 2>err || status=$?
}
# good COMMAND ARGUMENTS...: it succeeds, says something, and complains of nothing.
good() {
    run "$@"
    [ $status = 0 ] || fail "cpt $*: status $status: $(cat err)"
    [ -s out ] || fail "cpt $* says nothing: $(cat err)"
    [ ! -s err ] || fail "cpt $* complains: $(cat err)"
}
# fine COMMAND ARGUMENTS...: the same, but it may complain: of few requests.
fine() {
    run "$@"
    [ $status = 0 ] && [ -s out ] || fail "cpt $*: status $status: $(head -c 3000 out err)"
}
# has TEXT...: the output has each, as it is.
has() {
    for text in "$@"; do
        grep -qF -e "$text" out || fail "no '$text' in: $(head -c 3000 out)"
    done
}
until_true() { # COMMAND...: tried again until it succeeds
    tries=200
    while ! "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || fail "never: $*: $(cat out err)"
        sleep 0.1
    done
}
wait_has() { # TEXT OPTIONS...: what cpt wait of the front says
    text=$1
    shift
    run wait "$@" "$front_operators"
    grep -qF -e "$text" out
}

rm -rf ./*.pem ./*.key ./*.csr ./*.srl log spans depot
mkdir log spans
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 \
    -subj /CN=people -keyout people.key -out people.pem 2>/dev/null || fail openssl
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=users \
    -keyout users.key -out users.csr 2>/dev/null
echo 'subjectAltName=DNS:localhost,IP:127.0.0.1' >users.ext
openssl x509 -req -in users.csr -CA people.pem -CAkey people.key -CAcreateserial \
    -days 1 -extfile users.ext -out users.pem 2>/dev/null || fail openssl
chmod 600 users.key

# What a callee without a list of requests is: it takes a request, and does not answer.
cat >script.py <<'END'
import http.server, time
class Script(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/cpt"):
            self.send_error(404)
        else:
            time.sleep(3600)
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Script)
server.daemon_threads = True
print("script listens on 127.0.0.1:%d" % server.server_address[1], flush=True)
server.serve_forever()
END
start script python3 script.py
await script.out 'listens on'
script=http://$(sed -n 's/^script listens on //p' script.out)

# address NAME WHAT: "tells operators on", "listens on".
address() {
    await "$1.out" "$1 $2"
    sed -n "s/^$1 $2 //p" "$1.out"
}
# shop FLAGS...: starts it; $front and the ports for operators are set.
shop() {
    start stock "$CPT_HELPERS/every_service" stock --listen 127.0.0.1:0 --operators 127.0.0.1:0 "$@"
    stock_pid=$pid
    stock=$(address stock 'listens on')
    stock_operators=$(address stock 'tells operators on')
    await stock.out '^grpc'
    grpc=127.0.0.1:$(sed -n 's/^grpc //p' stock.out)
    start users "$CPT_HELPERS/every_service" users --listen 127.0.0.1:0 --operators 127.0.0.1:0 \
        --counters --tls-certificate users.pem --tls-key users.key --to "stock=$grpc" \
        --operators-of "stock=:${stock_operators#*:}" "$@"
    users_pid=$pid
    users=https://$(address users 'listens on')
    users_operators=$(address users 'tells operators on')
    start front "$CPT_HELPERS/every_service" front --listen 127.0.0.1:0 --operators 127.0.0.1:0 --counters \
        --to "users=$users,tls=$users,stock=$grpc,bare=$grpc,script=$script" --tls-ca people.pem \
        --operators-of "users=$users_operators" \
        --operators-of "stock=127.0.0.1:1,$stock_operators" --trust 127.0.0.0/8 "$@"
    front=http://$(address front 'listens on')
    front_operators=$(address front 'tells operators on')
    shop_pids="$stock_pid $users_pid $pid"
    curl -sS -X POST "http://$stock/aim/${front##*:}/${front_operators#*:}" >aimed || fail 'no aim'
}

# deadlock: a request that waits for itself, through TLS, gRPC, verbs and parameters.
deadlock() {
    start enter curl -sS -X POST "$@" "$front/enter/7"
    until_true wait_has 'deadlock of 4 requests'
    sed -e 's/[0-9.]* \(ms\|s\)\b/T/g' -e 's/, T left//' -e 's/request [0-9]*/request N/g' \
        -e "s/$grpc/GRPC/g" -e "s#$users#USERS#g" -e "s#$front#FRONT#g" out >drawn
    diff - drawn <<'END' || fail 'the deadlock differs'
front /enter/7, request N, T, stuck
  front: enter waits T for call 'users: PUT /check/{id}' of PUT USERS/check/7
    users /check/7, request N, T, stuck
      users: check waits T for call 'stock: /shop.Stock/Check' of GRPC/shop.Stock/Check
        stock /shop.Stock/Check, request N, T, stuck
          stock: again waits T for call 'front: POST /again/{id}' of POST FRONT/again/7
            front /again/7, request N, T, stuck
              front: again waits T for lock 'cart', last taken by front: enter
                front /enter/7, request N, see above

deadlock of 4 requests
  front /enter/7, request N waits for users /check/7, request N: front: enter for call 'users: PUT /check/{id}' of PUT USERS/check/7
  users /check/7, request N waits for stock /shop.Stock/Check, request N: users: check for call 'stock: /shop.Stock/Check' of GRPC/shop.Stock/Check
  stock /shop.Stock/Check, request N waits for front /again/7, request N: stock: again for call 'front: POST /again/{id}' of POST FRONT/again/7
  front /again/7, request N waits for front /enter/7, request N: front: again for lock 'cart', last taken by front: enter
END
    run wait --fail-if deadlock "$front_operators"
    [ $status = 3 ] || fail "status $status with a deadlock: $(cat err)"
    # Asked elsewhere, it is the same: also at ports that no stub names.
    for place in "$users_operators" "$stock_operators" "${front#http://}" "$users"; do
        run wait --ca people.pem --fail-if deadlock "$place"
        [ $status = 3 ] || fail "status $status with a deadlock, from $place: $(cat out err)"
    done
    good wait --json "$front_operators"
    python3 "$here/../cli/json_schema.py" "$schema/wait.json" <out || fail 'the schema of wait'
    curl -sS "http://$front_operators/cpt/requests" |
        python3 "$here/../cli/json_schema.py" "$schema/requests.json" || fail 'the schema of requests'
}

say 'a deadlock through verbs, parameters, TLS, gRPC and ports for operators'
shop --probability 0
deadlock
say 'the same beside requests of the same trace'
start other curl -sS -X POST -H "traceparent: 00-$trace-b7ad6b7169203331-00" "$front/enter/8"
until_true wait_has "front /enter/8"
run wait --fail-if deadlock "$front_operators"
[ $status = 3 ] && [ "$(grep -c '^deadlock' out)" = 1 ] || fail "status $status: $(cat out err)"


# ask_front PATH NAME: a request that is not answered.
ask_front() {
    start "$2" curl -sS "$front$1"
}

say 'calls that are not followed: the reason, and no word that all is well'
kill -KILL $shop_pids
shop --probability 0
ask_front /wait/script/5 scripted
until_true wait_has "(not followed: ${script#http://}: it answers 404: "
has "call 'script: GET /{id}' of GET $script/5"
until_true wait_has 'not known of 1 request whether it is stuck' # once it is no news
run wait --fail-if deadlock "$front_operators"
[ $status = 1 ] || fail "status $status, and a call is not followed"
grep -q "cannot tell whether there is a deadlock: 1 request waits .* as 'script: GET /{id}': " err ||
    fail "said: $(cat err)"
good wait --json "$front_operators"
has '"doubts":[0]' '"not_followed":"not followed: '
python3 "$here/../cli/json_schema.py" "$schema/wait.json" <out || fail 'the schema of wait'
good wait --leaf users,script --fail-if deadlock "$front_operators"
has '(not followed, as --leaf says)'

ask_front /wait/bare/6 bare
until_true wait_has "call 'bare: sleep' of $grpc/shop.Stock/Sleep" --leaf script
has '(not followed: it goes by grpc, and neither its stub nor --operators-of names the port'
for place in "$stock_operators" ":${stock_operators#*:}" "127.0.0.1:1,$stock_operators"; do
    until_true wait_has 'stock: sleep waits for timer' --leaf script --operators-of "bare=$place"
    good wait --leaf script --operators-of "bare=$place" --fail-if deadlock "$front_operators"
done

ask_front /wait/tls/8 by_tls
until_true wait_has '(not followed: https://127.0.0.1:'
has "call 'tls: sleep' of GET $users/sleep/8" 'its certificate is not believed: '
run wait --ca /nowhere.pem --leaf script,bare --fail-if deadlock "$front_operators"
[ $status = 1 ] || fail "status $status without certificates: $(cat out err)"
until_true wait_has 'users: sleep waits for timer' --ca people.pem
good wait --leaf script,bare --ca people.pem --fail-if deadlock "$front_operators"
good wait --ca people.pem "$users"
has 'users /sleep/8, request'
good wait --ca people.pem "https://localhost:${users##*:}"
run wait "$users"
[ $status = 1 ] && grep -q 'its certificate is not believed' err || fail "status $status: $(cat err)"
run wait "${users#https://}"
[ $status = 1 ] && [ -s err ] || fail "status $status: $(cat err)"
kill -KILL "$users_pid"
until_true wait_has '127.0.0.1' --ca people.pem
run wait --leaf script,bare --ca people.pem "$front_operators"
[ $status = 0 ] || fail "status $status"

say 'where spans are written, the ids of a call are its own'
kill -KILL "$stock_pid" "$pid" 2>/dev/null || true
shop --probability 1 --spans spans
deadlock -H "traceparent: 00-$trace-b7ad6b7169203331-01"
curl -sS "http://$stock_operators/cpt/requests" >told
python3 - told <<'END' || fail "the ids of a call are not its own: $(cat told)"
import json, sys
request = json.load(open(sys.argv[1]))["requests"][0]
call = next(task for task in request["tasks"] if task["state"] == "waits")["for"][0]
assert call["trace_id"] == request["trace_id"] and call["sent"] is True, call
assert len({call["span_id"], request["span_id"], request["parent_id"]}) == 3, request
assert call["verb"] == "POST" and call["path"] == "/again/7" and call["transport"] == "http", call
END
kill -KILL $shop_pids
rm -rf spans
mkdir spans

say 'pages, of which logs, graphs and spans are kept'
shop --probability 1 --log log --graph 1 --spans spans
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    curl -sS "$front/page/$i" >"page.$((i % 2))" &
    pages="${pages:-} $!"
done
wait $pages
curl -sS -D head -o page -H 'critical-path: 1;forced' "$front/page/21"
[ "$(cat page)" = 'user 21: 0' ] || fail "$(cat page)"

say 'the graphs of tasks, of a service that runs'
good graph "$front_operators"
has 'GET /page/{id}' 'POST /enter/{id}' 'GET /wait/{who}/{id}' 'front: render'
good graph "$stock_operators"
has '/shop.Stock/Level' 'POST /aim/{port}/{operators}'
good graph --ca people.pem "$users"
has 'PUT /check/{id}' 'users: check'
run graph "$users"
[ $status = 1 ] && grep -q 'its certificate is not believed' err || fail "status $status: $(cat err)"
curl -sS "http://$users_operators/cpt/plans" |
    python3 "$here/../cli/json_schema.py" "$schema/plans.json" || fail 'the schema of plans'
for pid in $shop_pids; do
    kill -TERM "$pid"
done
for pid in $shop_pids; do
    wait "$pid" || fail "a service ended with $?: $(cat ./*.err)"
done

say 'commands that read logs'
log=$(ls log/front-*.cptlog)
graphs=$(ls log/front-*.cptgraph)
page='front: GET /page/{id}'
user='users: GET /users/{id}'
level='stock: /shop.Stock/Level'

good metadata "$(path_of head)"
has "$page" "$user" 'front: cart' "$level" 'front: render'
good log "$log"
has "$page  (callee)" "$page"
run log --check "$log"
[ $status = 0 ] || fail "$(cat err)"
good log --json "$log"
has "\"$page\""
good log log/users-*.cptlog
has "$user"
good log log/stock-*.cptlog
has "$level"
good show "$log"
has "$page" 'front: ‹accept queue›'
fine report "$log"
has "$page" "$user" 'front: cart' "$level" 'front: render'
fine report --json --where "entry=$page" "$log"
has "\"$page\""
fine report --where "entry == \"$page\" and method == \"GET /page/{id}\"" "$log"
fine report --group-by arm "$log"
has even odd
run report --html report.html "$log"
[ $status = 0 ] && grep -qF "$page" report.html || fail "no page in the HTML: $(cat err)"
run aggregate -o a.cpttree "$log"
fine report a.cpttree
has "$page"
run aggregate -o odd.cpttree --where arm=odd "$log"
run aggregate -o even.cpttree --where arm=even "$log"
run merge -o both.cpttree odd.cpttree even.cpttree
fine report both.cpttree
has "$page"
fine diff --base arm=even --new arm=odd "$log"
has "$page"
fine natural --when arm=odd "$log"
has "$page"
fine predict --key arm --threshold 10ms "$log"
has even odd
fine culprit --base arm=even --new arm=odd "$log"
fine contention log
has 'lock cart' 'front: cart'
fine slack log
has "$level" "$user"
fine busy log
has 'users: find' 'stock: find' 'front: cart'
fine whatif --set "$level <network>=0" --set "$user <network>=-50%" log
has "$level" "$user"
fine whatif --sweep 50% log
has "$level" "$user"
run experiment "$log"
[ $status = 1 ] && grep -q 'no request took part' err || fail "experiment: $(cat out err)"
fine precision "$log"
fine plan "$log"
fine folded "$log"
has "$page;front: cart"
fine pprof -o profile.pb.gz "$log"
gzip -dc profile.pb.gz >profile
grep -qaF "$page" profile || fail 'the profile has no page'
printf 'id,service,event,time_us\nr,a,%s,1700000000000000\nr,b,y,1700000000000001\n' \
    "$page" >lines.csv
fine model show lines.csv
has "$page"
fine events check lines.csv
has "$page" lines.csv
mkdir depot
run depot add depot log/*.cptlog
[ $status = 0 ] || fail "depot: $(cat err)"
fine depot list depot
id=$("$CPT" log --json "$log" | sed -n 's/.*"trace_id":"\([0-9a-f]*\)".*/\1/p' | head -1)
fine depot get depot "$id"
has "$page"

run load clickhouse://127.0.0.1:1/shop "$log"
[ $status = 1 ] && [ -s err ] || fail "load: status $status, $(cat err)"

say 'commands that read spans'
run import -o imported.cptlog spans/*.jsonl
[ $status = 0 ] || fail "import: $(cat err)"
fine report --entry front imported.cptlog
has "$page" 'front: cart' "$user" "$level"
fine assert "every span(\"$user\") under span(\"$page\") and every span(\"$level\") under span(\"$page\")" \
    spans/*.jsonl
python3 - spans/users-*.jsonl >named <<'END'
import json, sys
for line in open(sys.argv[1]):
    for part in json.loads(line)["resourceSpans"]:
        for span in part["scopeSpans"][0]["spans"]:
            if span["name"] == "GET /users/{id}":
                print(span["traceId"], span["spanId"])
END
read -r id span <named
fine explain "$id" "$span" spans/*.jsonl
has 'GET /users/{id}'
start collect "$CPT" collect --port 0 --quiet 1s -o collected
await collect.out 'http://127.0.0.1:'
collect=$(sed -n 's#.*\(http://127[0-9.:]*\).*#\1#p' collect.out | head -1)
for file in spans/*.jsonl; do
    while read -r line; do
        echo "$line" | curl -sS -o posted -H 'Content-Type: application/json' --data-binary @- \
            "$collect/v1/traces" || fail 'collect takes no spans'
    done <"$file"
done
kill -TERM "$pid"
wait "$pid" || fail "collect ended with $?: $(cat collect.err)"
commands="$commands collect"
fine report --entry front collected
has "$page" 'front: cart' "$user" "$level"

say 'the page of logs'
start web "$CPT" web --port 0 log
await web.out 'http://127.0.0.1:'
web=$(sed -n 's#.*\(http://127[0-9.:]*\).*#\1#p' web.out | head -1)
curl -sS -o site "$web/"
commands="$commands web"

say 'no command is left out'
"$CPT" --help | sed -n '/^commands/,/^options/s/^  \([a-z]*\) .*/\1/p' >all
for command in $(cat all); do
    case " $commands demo " in # demo has services of its own: demo_story.sh
    *" $command "*) ;;
    *) fail "cpt $command is run nowhere here" ;;
    esac
done
echo 'passed'
