# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# web.sh MAKE_LOG - cpt web: what it refuses, that its numbers are those of report and
# diff, that two readers get right answers, that logs are followed, and that it ends.
. "$(dirname "$0")/system.sh"
. "$(dirname "$0")/web_asks.sh"
make_log=$1

rm -rf logs part pipe *.cptlog*
"$make_log" experiment >a.cptlog
serve web "$CPT" web a.cptlog
web=$pid
read_all "$("$CPT" log --json a.cptlog | wc -l)"

say 'the page is whole, and loads nothing'
ask "$at/" page
grep -q '^HTTP/1.1 200' page
for header in "Content-Security-Policy: default-src 'none'" 'X-Content-Type-Options: nosniff' \
    'Referrer-Policy: no-referrer'; do
    grep -qi "^$header" page || fail "no $header in $(cat page)"
done
grep -qi '^access-control' page && fail 'a header of CORS'
grep -Eq '"live": ?true' page.body || fail 'the page does not know that it is live'
grep -Eq '(src|href) *= *"?https?:' page.body && fail 'the page loads something'

say 'foreign hosts and other verbs are refused'
port=${at##*:}
for host in evil.example "evil.example:$port" "127.0.0.1.evil.example:$port" 127.0.0.1 \
    "127.0.0.1:1$port" "[::1" "localhost:$port.evil.example" "127.0.0.1:$port@evil.example" ''; do
    got=$(status /api/summary -H "Host: $host")
    case $got in 400 | 403) ;; *) fail "Host '$host': $got" ;; esac
done
for host in "localhost:$port" "LOCALHOST:$port" "[::1]:$port" "127.0.0.1:$port"; do
    [ "$(status /api/summary -H "Host: $host")" = 200 ] || fail "Host '$host' is refused"
done
[ "$(status /api/summary --request-target "http://evil.example/api/summary" \
    -H 'Host: evil.example')" = 403 ] || fail 'a foreign target'
for path in /api/summary /api/view '/api/complete?text=a'; do
    [ "$(status "$path" -H 'Sec-Fetch-Site: cross-site')" = 403 ] ||
        fail "$path for a page of another site"
    for site in same-origin none; do
        [ "$(status "$path" -H "Sec-Fetch-Site: $site")" = 200 ] || fail "$path: $site"
    done
done
[ "$(status '/?where=a' -H 'Sec-Fetch-Site: cross-site')" = 200 ] || fail 'a link to the page'
for verb in POST PUT DELETE OPTIONS HEAD PATCH; do
    set -- -X $verb
    [ $verb != HEAD ] || set -- -I
    [ "$(status /api/summary "$@")" = 405 ] || fail "$verb is not refused"
done
[ "$(status /nothing)" = 404 ]
[ "$(status /../../etc/passwd --path-as-is)" = 404 ]
[ "$(status /api/view/)" = 404 ]

say 'errors say what the command line says'
"$CPT" report a.cptlog --where 'arm = "x"' 2>error && fail 'no error'
wanted=$(sed -n '1s/^cpt: //p' error)
[ "$(get /api/view 'where=arm = "x"' | jq -r .error)" = "$wanted" ] ||
    fail "$(get /api/view 'where=arm = "x"'), not $wanted"
refused 400 'no request is selected' /api/view where=arm=nothing
refused 400 "'base' is missing" /api/view new=arm=control
refused 400 "stack service name edge" /api/view by=colour
refused 400 "unknown parameter 'wher'" /api/view wher=x
refused 400 "'min_ns' takes a whole number" /api/view min_ns=1ms
refused 400 "'max_ns' is at most 9223372036854775807" /api/view max_ns=9223372036854775808
refused 400 "'min_ns' is at most" /api/view min_ns=18446744073709551615 max_ns=1
[ "$(status '/api/view?max_ns=9223372036854775807')" = 200 ] || fail "$(cat status.body)"
refused 400 'more than max_ns' /api/view min_ns=2 max_ns=1
refused 400 "needs base and new" /api/view mix=page
refused 400 "'forced' takes 0 or 1" /api/view forced=yes
refused 400 "'fragments' takes 0 or 1" /api/view fragments=yes
refused 400 "is at most" /api/records limit=1001
refused 400 "takes the id" /api/record id=nothing
refused 400 "takes the id" /api/record
refused 404 "no record with this id" /api/record id=1-0000000000000000

say 'hostile queries'
for query in '%' '%0' '%00' 'where=%00' 'where=%zz' 'where=a%3Db%0' '&&&&' '=' '=x' 'x' \
    'where=%ff%fe' 'where=%22' 'where=%28%28%28%28' 'base=%27&new=%27' \
    'stack=%22%29+or+%28%22' 'stack=%5C%22' 'where=path%28%22%3B%3B%3B%22%29' \
    'max_ns=99999999999999999999' 'entry=%3Cscript%3E' 'from=never' 'to=%40' \
    "where=$(printf '%05000d' 1)" "where=$(printf '%09000d' 1 | tr 0 '(')" \
    "$(seq -s '&' -f 'where=a%%3D%g' 1 33)"; do
    for path in /api/view /api/records /api/complete /api/record /api/summary; do
        got=$(status "$path?$query")
        case $got in 200 | 400 | 404 | 422 | 431) ;; *) fail "$path?$query: $got" ;; esac
        [ "$got" = 400 ] || jq . status.body >/dev/null || fail "$path?$query: no JSON"
    done
done
got=$(status "/api/view?where=$(printf '%070000d' 1)")
case $got in 400 | 413 | 414 | 431) ;; *) fail "a query of 70,000 bytes: $got" ;; esac
jq -e . status.body >/dev/null 2>&1 || true
get /api/view 'where=method == "</script>"' | grep -q '</script>' && true
kill -0 "$web" || fail 'it has ended'

say 'the numbers are those of cpt report'
# rows FILE: stack, self and inclusive time of each row of an answer.
rows()
{
    jq -r '. as $all | .rows | to_entries[] | select(.key > 0) | .value as $row
        | [[$row | recurse(if .parent > 0 then $all.rows[.parent] else empty end) | .text]
           | reverse | join(";"), $row.sides[0].self_ns, $row.sides[0].inclusive_ns]
        | @tsv' | sort
}
compare_report() # WHERE [NAME=VALUE...]
{
    where=$1
    shift
    "$CPT" report --json a.cptlog --where "$where" >report.json
    jq -r '.rows[] | [(.stack | join(";")), .self_ns, .inclusive_ns] | @tsv' report.json |
        sort >wanted.rows
    get /api/view "where=$where" "$@" >view.json
    rows <view.json >got.rows
    cmp -s wanted.rows got.rows || fail "$where: $(diff wanted.rows got.rows)"
    for field in requests mean_latency_ns low_ns high_ns records forced_excluded fragments_excluded; do
        [ "$(jq ".$field" report.json)" = "$(jq ".sides[0].$field" view.json)" ] ||
            fail "$where: $field is not that of cpt report"
    done
}
compare_report 'arm == "control"'
compare_report 'latency > p90'
compare_report 'not (arm == "control") and latency >= 1ms'
compare_report 'path("B: B2") > 1us'
"$CPT" report --json a.cptlog --where 'latency >= 13000000ns and latency <= 33000000ns' \
    >wanted.json
[ "$(jq .requests wanted.json)" = \
    "$(get /api/view min_ns=13000000 max_ns=33000000 | jq '.sides[0].requests')" ] ||
    fail 'a range of latencies'
get /api/view fragments=1 | jq -e '.sides[0].fragments_excluded == 0' >/dev/null
get /api/view forced=1 | jq -e '.sides[0].forced_excluded == 0' >/dev/null

say 'and those of cpt diff'
compare_diff() # BY [CPT OPTION...] -- [NAME=VALUE...]
{
    by=$1
    shift
    options=
    while [ "$1" != -- ]; do
        options="$options $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # options are words
    "$CPT" diff --json a.cptlog --by "$by" --base arm=control --new arm=treatment $options \
        >diff.json 2>/dev/null
    jq -r '.rows[] | [(if .stack then .stack[-1] else .name // .service // .edge end),
        .delta_ns, .low_ns, .high_ns, .q] | @tsv' diff.json | sort >wanted.rows
    get /api/view base=arm=control new=arm=treatment "by=$by" "$@" >view.json
    jq -r '.rows[1:][] | [.text, .self.delta_ns, .self.low_ns, .self.high_ns, .q_value]
        | @tsv' view.json | sort >got.rows
    [ -s wanted.rows ] || fail "by $by: no rows"
    cut -f 1,2,3,4 wanted.rows | sort >wanted.parts
    cut -f 1,2,3,4 got.rows | sort >got.parts
    cmp -s wanted.parts got.parts || fail "by $by $options: $(diff wanted.rows got.rows)"
}
for by in stack service name edge; do
    compare_diff $by --
    compare_diff $by --mix method -- mix=method
done

say 'records: a page of them, and one'
get /api/records where=arm=control limit=5 >list.json
[ "$(jq length list.json)" = 5 ]
jq -e 'all(.attributes.arm == "control")' list.json >/dev/null
get /api/records where=arm=control limit=5 offset=3 >later.json
[ "$(jq -r '.[3].id' list.json)" = "$(jq -r '.[0].id' later.json)" ] || fail 'offset'
all=$(get /api/view where=arm=control | jq '.sides[0].requests')
[ "$(get /api/records where=arm=control limit=1000 | jq length)" = "$all" ] ||
    fail 'a list has not as many records as the view'
[ "$(get /api/records "offset=100000" | jq length)" = 0 ]
with=$(get /api/records 'stack=A: /;A: A1;B: B1;B: B2' limit=1000 | jq length)
[ "$with" = "$(get /api/view 'where=path("A: /;A: A1;B: B1;B: B2")' | jq '.sides[0].requests')" ] ||
    fail "a stack: $with"
id=$(jq -r '.[2].id' list.json)
get /api/record "id=$id" >record.json
[ "$(jq -c '[.id, .latency_ns, .attributes]' record.json)" = \
    "$(jq -c '.[2] | [.id, .latency_ns, .attributes]' list.json)" ] || fail "$(cat record.json)"
[ "$(jq 'if (.segments[0] | type) == "array" then [.segments[][1]] else [.segments[].duration_ns] end
    | add' record.json)" = "$(jq .latency_ns record.json)" ] || fail 'segments do not add up'

say 'a list averages nothing: its requests may have entered at several services'
"$make_log" named >named.cptlog
serve named "$CPT" web named.cptlog a.cptlog
read_all 136
for limit in 1 3 16 50 136 1000; do
    [ "$(status "/api/records?limit=$limit")" = 200 ] || fail "limit $limit: $(cat status.body)"
    [ "$(jq length status.body)" = $((limit < 135 ? limit : 135)) ] || fail "limit $limit: $(jq length status.body)"
done
# as cpt log lists them, but for the forced one
get /api/records limit=1000 | jq -r '.[] | "\(.entry) \(.latency_ns)"' | sort >got.rows
"$CPT" log --json named.cptlog a.cptlog | jq -r 'select(.forced | not) | "\(.entry) \(.latency_ns)"' | sort \
    >wanted.rows
cmp -s wanted.rows got.rows || fail "$(diff wanted.rows got.rows)"
[ "$(get /api/records limit=1000 | jq -r '[.[].entry] | unique | length')" = 9 ] || fail 'entries are missing'
[ "$(get /api/records 'where=latency >= 1ns' limit=1000 | jq length)" = 135 ]
[ "$(get /api/records 'where=latency > p50' limit=1000 | jq length)" -lt 136 ]
[ "$(get /api/records offset=134 | jq length)" = 1 ]
[ "$(get /api/records offset=1000 limit=1 | jq length)" = 0 ]
[ "$(get /api/records base=latency\<10ms new=latency\>=10ms limit=1000 | jq length)" -gt 0 ] || fail 'a side of two'
for id in $(get /api/records limit=20 | jq -r '.[].id'); do
    [ "$(status "/api/record?id=$id")" = 200 ] || fail "one of several entries: $(cat status.body)"
done
refused 400 'choose one by --entry' /api/view
refused 400 'choose one by --entry' /api/view min_ns=1

say 'a name is chosen as it is, and as it is shown'
get /api/summary | jq -r '.entries[].text' >entries
[ "$(wc -l <entries)" = 9 ] || fail "entries: $(cat entries)"
get /api/view | jq -r '.error | sub(".*--entry: "; "") | split(", ")[]' | sort >named
sort entries | cmp - named || fail "the summary has other names than the error: $(cat named)"
while IFS= read -r name; do
    wanted=2
    [ "$name" != A ] || wanted=119
    for parameter in "entry=$name" "where=service=$name" "where=service == \"$(printf %s "$name" | sed 's/"/\\"/g')\""; do
        [ "$(get /api/view "$parameter" | jq '.sides[0].requests')" = $wanted ] ||
            fail "$parameter: $(get /api/view "$parameter" | cut -c 1-300)"
    done
done <entries
[ "$(get /api/view 'entry=a;b' | jq '.sides[0].requests')" = 2 ] || fail 'a name as it is'
# what is completed selects something
for text in 'service=' 'entry='; do
    get /api/complete "text=$text" | jq -r '.options[].text' >offered
    [ "$(wc -l <offered)" -ge 9 ] || fail "completion of $text: $(cat offered)"
    while IFS= read -r term; do
        [ "$(get /api/view "where=$term" | jq '.sides[0].requests > 0')" = true ] || fail "$term: $(get /api/view "where=$term")"
    done <offered
done
kill "$pid"
wait "$pid" || fail "it ended with $?"
at=$(sed -n 's|^cpt web: \(http://[^ ]*\)/ .*|\1|p' web.out)

say 'completion'
[ "$(get /api/complete text=ar | jq -r '.options[0].text')" = arm ]
[ "$(get /api/complete text=arm=tr | jq -r '.options[0].text')" = arm=treatment ]
[ "$(get /api/complete 'text=arm == "tr' | jq -r '.options[0].text')" = 'arm == "treatment"' ]
get /api/complete 'text=path("B: B2' | jq -e '.options[0].text == "path(\"B: B2\")"' >/dev/null

say 'two readers at the same time'
get /api/view where=arm=control | jq -c '.sides[0].requests, .rows' >control
get /api/view where=arm=treatment | jq -c '.sides[0].requests, .rows' >treatment
reader() # NAME
{
    for i in 1 2 3 4 5 6 7 8; do
        get /api/view "where=arm=$1" "min_ns=$i" | jq -c '.sides[0].requests, .rows' |
            cmp -s - "$1" || fail "reader of $1, time $i"
    done
}
reader control & one=$!
reader treatment & other=$!
wait $one || exit 1
wait $other || exit 1

say 'many at once: right answers, or busy'
seq 60 | xargs -P 20 -I @ curl -s --max-time 60 -o /dev/null -w '%{http_code}\n' \
    "$at/api/view?min_ns=@" >many
[ "$(wc -l <many)" = 60 ] || fail "$(wc -l <many) answers"
grep -Eqv '^(200|503)$' many && fail "statuses: $(sort many | uniq -c)"

say 'a log that is still being written, moved away, and begun again'
"$make_log" experiment >whole.cptlog
bytes=$(($(wc -c <whole.cptlog) / 2))
head -c $bytes whole.cptlog >growing.cptlog
start growing "$CPT" web growing.cptlog
await growing.out 'Ctrl-C ends it'
at=$(sed -n 's|^cpt web: \(http://[^ ]*\)/ .*|\1|p' growing.out)
read_all "$("$CPT" log --json growing.cptlog 2>/dev/null | wc -l)"
before=$(get /api/summary | jq .revision)
get /api/view | jq -e '.sides[0].requests > 0' >/dev/null
tail -c +$((bytes + 1)) whole.cptlog >>growing.cptlog
count=$("$CPT" log --json whole.cptlog | wc -l)
read_all "$count"
[ "$(get /api/summary | jq .revision)" -gt "$before" ] || fail 'the revision did not grow'
[ "$(get /api/view | jq '.sides[0].requests')" = \
    "$("$CPT" report --json whole.cptlog | jq .requests)" ] || fail 'a log that grew'
mv growing.cptlog growing.cptlog.1
"$make_log" few >next.cptlog
cp next.cptlog growing.new
mv growing.new growing.cptlog
read_all $((count + $("$CPT" log --json next.cptlog | wc -l)))
rm growing.cptlog.1
read_all "$("$CPT" log --json next.cptlog | wc -l)"
kill $pid
wait $pid || fail "it ended with $?"

say 'a writer that rotates, and a folder'
mkdir logs
"$CPT_HELPERS/log_rotating" logs 100 2000 0
first=$(ls logs | head -1)
mkdir part
mv logs/* part
mv "part/$first" logs
serve rotating "$CPT" web "logs/$first" logs
read_all "$("$CPT" log --json "logs/$first" | wc -l)"
mv part/* logs
read_all 100
kill $pid
wait $pid || fail "it ended with $?"

say 'a folder of spans'
rm -rf spans private
mkdir spans private
cat >spans/one.json <<'END'
[{"traceId": "1", "id": "a", "name": "get", "timestamp": 1700000000000000,
  "duration": 5000, "localEndpoint": {"serviceName": "A"}},
 {"traceId": "1", "id": "b", "parentId": "a", "name": "find", "timestamp": 1700000000001000,
  "duration": 2000, "localEndpoint": {"serviceName": "B"}}]
END
if "$CPT" import spans/one.json -o one.cptlog 2>/dev/null; then
    TMPDIR=$PWD/private serve spans "$CPT" web spans
    read_all 1
    [ "$(get /api/view | jq '.sides[0].mean_latency_ns')" = \
        "$("$CPT" report --json one.cptlog | jq .mean_latency_ns)" ] || fail 'a folder of spans'
    kill $pid
    wait $pid || fail "it ended with $?"
    [ -z "$(ls -A private)" ] || fail "left behind: $(ls -A private)"
fi

say 'it ends with 0, at once, also while it is asked'
at=$(sed -n 's|^cpt web: \(http://[^ ]*\)/ .*|\1|p' web.out)
asking=
for i in 1 2 3 4; do
    get /api/view "by=name" "min_ns=1$i" >/dev/null &
    asking="$asking $!"
done
kill $web
wait $web || fail "it ended with $?"
for i in $asking; do
    wait $i || true # cut off
done
[ -z "$(cat web.err)" ] || fail "on stderr: $(cat web.err)"

# ends: the server $pid ends with 0 within some seconds after SIGTERM.
ends()
{
    kill "$pid"
    tries=40
    while kill -0 "$pid" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { kill -9 "$pid"; fail "$1: it does not end"; }
        sleep 0.1
    done
    wait "$pid" || fail "$1: it ended with $?"
}

say 'a log that becomes a pipe'
cp a.cptlog piped.cptlog
mkfifo pipe
serve piped "$CPT" web piped.cptlog
count=$("$CPT" log --json a.cptlog | wc -l)
read_all "$count"
mv pipe piped.cptlog
for i in 1 2 3; do
    got=$(status "/api/view?min_ns=$i" --max-time 5)
    [ "$got" = 400 ] || fail "a pipe: $got"
    sleep 0.4
done
cp a.cptlog again.cptlog
mv again.cptlog piped.cptlog
read_all "$count"
mkfifo pipe
mv pipe piped.cptlog
ends 'a pipe'

say 'a log without end: a pass whose reader has left ends, and so does the server'
make_endless() { # FILE: zeros, and blocks so that it is not left
    truncate -s 200G "$1"
    for i in $(seq 0 220); do
        dd if=a.cptlog of="$1" bs=1M seek=$((i * 900)) conv=notrunc status=none
    done
}
make_endless endless.cptlog
serve endless "$CPT" web endless.cptlog
got=$(status /api/view --max-time 1) || true
[ "$got" = 000 ] || fail "an endless log: $got"
cp a.cptlog again.cptlog
mv again.cptlog endless.cptlog
curl -s --max-time 5 "$at/api/view" | jq -e '.sides[0].requests > 0' >/dev/null ||
    fail 'the pass of a reader that has left goes on'
make_endless again.cptlog
mv again.cptlog endless.cptlog
get '/api/view?min_ns=1' >/dev/null & asking=$!
sleep 0.5
ends 'a pass over an endless log'
wait $asking || true # cut off
[ -z "$(cat endless.err)" ] || fail "on stderr: $(cat endless.err)"
rm -f endless.cptlog again.cptlog

say 'messages of a reading are in the answer, also in one that was kept'
cp a.cptlog copy.cptlog
head -c 2000 a.cptlog >torn.cptlog
serve notes "$CPT" web a.cptlog copy.cptlog torn.cptlog
for i in 1 2; do
    get /api/view | jq -r '.notes[]' >notes
    grep -q 'given more than once and count once' notes || fail "duplicates are not said: $(cat notes)"
    grep -q '^torn.cptlog: ' notes || fail "a torn file is not said: $(cat notes)"
done
[ "$(get /api/view where=items=3 | jq '.rows | length > 0')" = true ] || fail 'notes break a view'
"$CPT" report a.cptlog copy.cptlog torn.cptlog 2>&1 >none | sed 's/^cpt: //' | cmp - notes ||
    fail 'the messages are not those of cpt report'
ends 'messages'
rm -f copy.cptlog torn.cptlog

say 'records of one time and latency have ids of their own'
"$make_log" alike >alike.cptlog
serve alike "$CPT" web alike.cptlog
read_all 3
for id in $(get /api/records | jq -r '.[].id'); do
    get /api/record "id=$id" | jq -r '"\(.attributes.try) \(.segments[0].stack[1])"'
done | sort >found
printf '0 A: A1\n0 A: A2\n1 A: A1\n' | cmp - found || fail "ids: $(cat found)"
ends 'ids'

say 'kept graphs, with other times of frames'
for service in A B C; do
    "$(dirname "$make_log")/make_graphs" $service 40 >$service.cptgraph
done
mkdir graphs && cp B.cptgraph C.cptgraph graphs
serve whatif "$CPT" web --graphs A.cptgraph --graphs graphs a.cptlog
get /api/whatif | jq -e '.requests == 40 and .terms == [] and ([.latency[] | .change_ns == 0] | all) and
    ([.frames[].change_ns == 0] | all)' >/dev/null || fail "no change: $(get /api/whatif)"
frame=$(get /api/whatif | jq -r '.frames[1].name')
[ "$frame" = 'B: B2' ] || fail "the second frame is $frame"
# B2 takes 4 ms longer in half of the requests; without it all wait for C
get /api/whatif 'set=B: B2=0' >answer.json
jq -e '.latency.mean.after_ns < .latency.mean.before_ns and .latency.mean.high_ns < 0 and
    .latency.p99.after_ns <= 10580000 and .latency.p50.low_ns != null' answer.json >/dev/null ||
    fail "B2: $(cat answer.json)"
# the same answer as that of the command line, in each byte
for terms in 'set B: B2=50%' 'cap C: C1<=1ms' 'set *: <queue>=0' 'workers B=1' 'cut A: A1 -> B: B2'; do
    printf '%s\n' "$terms" >terms
    get /api/whatif "term=$terms" >by_web
    if "$CPT" whatif --json --terms terms A.cptgraph B.cptgraph C.cptgraph >by_command 2>error; then
        cmp by_command by_web || fail "$terms"
    else
        [ "$(sed -n 's/^cpt: //p' error | head -1)" = "$(jq -r .error by_web)" ] || fail "$terms: $(cat by_web)"
    fi
done
get /api/whatif 'set=B: B2=50%' 'cap=C: C1<=1ms' | jq -e '.requests == 40 and (.terms | length) == 2' >/dev/null
refused 400 'matches nothing; cpt whatif' /api/whatif 'set=Q=0'
refused 400 'nearest name' /api/whatif 'set=B: B3=0'
refused 400 'more than 32 parameters' "/api/whatif?$(printf 'set=B%%3A+B2%%3D0&%.0s' $(seq 40))"
refused 400 'at byte' /api/whatif "term=set $(printf 'x%.0s' $(seq 2000))=0"
refused 400 'at byte' /api/whatif 'term=frobnicate B: B2=0'
refused 400 'is missing' /api/whatif 'set=B: B2'
refused 400 'no parameter' /api/whatif 'where=arm=A'
get /api/summary | jq -e '.graphs == 40' >/dev/null || fail "the summary: $(get /api/summary)"
# the page of sliders, as a form sends it
get /whatif >page.html
grep -q 'name="share:B: B2" value="100"' page.html || fail "no slider: $(cat page.html)"
grep -q 'title="A: A1: 11.03[0-9] ms, was 11.03[0-9] ms"' page.html || fail "no flame graph: $(grep title= page.html)"
[ "$(status '/whatif?share%3AB%3A+B2=0&share%3AC%3A+C1=100&terms=%23+no+term%0D%0Acap+C%3A+C1%3C%3D6ms%0D%0A')" = 200 ] ||
    fail "the form: $(cat status.body)"
grep -q 'name="share:B: B2" value="0"' status.body
grep -q 'cap C: C1&lt;=6ms' status.body
get /api/whatif 'set=B: B2=0' 'cap=C: C1<=6ms' >answer.json
grep -qF "<tr><th scope=\"row\">mean</th><td>$(jq -r '.latency.mean | "\(.before_ns) \(.after_ns)"' answer.json |
    awk '{printf "%.3f</td><td>%.3f", $1 / 1e6, $2 / 1e6}')</td>" status.body || fail "mean: $(grep mean status.body)"
[ "$(status '/whatif?share%3AB%3A+B2=50%3Cscript%3E')" = 400 ]
[ "$(status '/whatif?share%3AB%3A+B2=201')" = 400 ]
[ "$(status '/whatif?share%3AQ=50')" = 400 ]
grep -q 'matches nothing' status.body
[ "$(status '/whatif?terms=frobnicate%3Cb%3E' -D headers)" = 400 ]
grep -qi '^content-type: text/html' headers || fail "an error of a page: $(cat headers)"
grep -q '^<p id="error" role="alert">.*frobnicate&lt;b&gt;' status.body || fail "no page of an error: $(cat status.body)"
[ "$(status "/whatif?terms=$(for i in $(seq 300); do printf 'set+*=1%%25%%0A'; done)")" = 400 ]
grep -q 'more than 256 terms' status.body
curl -s "$at/whatif?terms=%23%3C/textarea%3E%3Cscript%3Ealert(1)" >page.html
[ "$(grep -c '<script>' page.html)" = 1 ] || fail 'a term became markup'
ends 'what-if'
# there is room for some of them: the others are told, on the page, too
serve few "$CPT" web --graphs-max 300 --graphs A.cptgraph --graphs graphs a.cptlog
get /api/whatif 'set=B: B2=0' | jq -e '.requests > 0 and .left_out > 0 and .requests + .left_out == 40' >/dev/null ||
    fail "left out: $(get /api/whatif | cut -c 1-300)"
left=$(get /api/whatif | jq .left_out)
grep -q "requests that are left out, as the others have [0-9]* nodes and edges, and no more than 300 .*: $left\$" few.err ||
    fail "left out: $(cat few.err)"
get /whatif >page.html
grep -q "Requests that are left out, as no more nodes and edges are kept in memory: $left\." page.html ||
    fail "left out, on the page: $(grep -o 'Requests of which.*' page.html)"
ends 'some graphs'
"$CPT" web --graphs missing.cptgraph a.cptlog 2>error && fail 'a missing graph log'
grep -q 'No such file' error

say 'no password of an address is shown'
serve secret "$CPT" web 'clickhouse://u:hunter2@127.0.0.1:1/db' a.cptlog
for path in /api/summary /api/view /api/records /api/record?id=1-0 / /whatif /api/complete?text=a; do
    [ "$(status "$path")" != 000 ] || fail "$path: no answer"
    grep -q hunter2 status.body && fail "$path shows the password"
done
[ "$(get /api/summary | jq -r '.sources[0]')" = 'clickhouse://u:***@127.0.0.1:1/db' ] || fail "$(get /api/summary)"
refused 400 'holds a password\|without libcurl' /api/view
tr '\0' '\n' <"/proc/$pid/cmdline" | grep -q hunter2 && fail 'the list of processes shows it'
grep -q hunter2 secret.out secret.err && fail 'a message shows it'
ends 'a password'

say 'what it cannot serve'
"$CPT" web - 2>error && fail 'standard input'
grep -q 'again and again' error
"$CPT" web missing.cptlog 2>error && fail 'a missing log'
grep -q 'No such file' error
"$CPT" web --port 70000 a.cptlog 2>error && fail 'a port'
"$CPT" web --listen localhost a.cptlog 2>error && fail 'a name'
grep -q 'not a numeric address' error
true
