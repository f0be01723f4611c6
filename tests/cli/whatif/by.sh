# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what --sweep and --best make shorter: a frame where it is recorded who waited, a service
# where that is inferred. front calls cart*: get, cart*: put, and cart: get; of db, which
# cart: get calls, half of the requests have a span of its own
. "$(dirname "$0")/requests.sh"
mv spans.json recorded.json
server() { # ID PARENT PROCESS OPERATION START DURATION [KIND [SERVICE OF THE PEER]]
    printf '%s{"traceID":"%032x","spanID":"%s","operationName":"%s","processID":"%s","startTime":%d,"duration":%d,' \
        "$comma" "$i" "$1" "$4" "$3" "$((i * 1000000 + $5))" "$6"
    printf '"references":[{"refType":"CHILD_OF","spanID":"%s"}],' "$2"
    printf '"tags":[{"key":"span.kind","value":"%s"},{"key":"peer.service","value":"%s"}]}' "${7:-server}" "${8:-}"
    comma=,
}
for i in $(seq 1 40); do
    printf '{"data":[{"traceID":"%032x","processes":{"f":{"serviceName":"front"},"s":{"serviceName":"cart*"},"c":{"serviceName":"cart"},"d":{"serviceName":"db"}},"spans":[' "$i"
    comma=
    # calls vary, what is between them does not: so spans tell who waits
    a=$((i * 7919 % 401)) b=$((i * 104729 % 307)) c=$((i * 1299709 % 503))
    server 1 0 f / 0 $((1500 + a + b + c))
    server 2 1 s get 100 $((200 + a))
    server 3 1 s put $((350 + a)) $((300 + b))
    server 4 1 c get $((800 + a + b)) $((600 + c))
    server 5 4 c SELECT $((900 + a + b)) $((300 + c)) client db
    if [ "$i" -gt 20 ]; then
        server 6 5 d SELECT $((900 + a + b)) $((300 + c))
    fi
    echo ']}]}'
done >spans.json
for by in service operation frame; do
    cpt whatif --sweep 50% --by $by spans.json
done
echo 'a group gives what its term gives'
cpt whatif --sweep 50% spans.json | sed -n '1p;4p;/ front: \*$/p'
cpt whatif --json --set 'front: *=-50%' spans.json | sed -n 's/.*"mean":{[^{}]*"change_ns":\([-0-9.]*\).*/\1/p'
echo 'each call takes 100 us less, but none less than nothing'
cpt whatif --sweep 100us --format csv spans.json | tr -d "\r"
echo 'together'
cpt whatif --best 2 --sweep 50% spans.json | head -5
cpt whatif --best 2 --by operation spans.json | head -5
echo 'of recorded waits, a frame'
cpt whatif --sweep 50% recorded.json | head -7
cpt whatif --sweep 50% --by service recorded.json
cpt whatif --sweep 50% --json --by operation recorded.json | tee by.json
cpt whatif --best 1 --json spans.json >best.json
tests=$(cd "$(dirname "$0")/.." && pwd)
if command -v python3 >/dev/null; then
    for file in by best; do
        python3 "$tests/json_schema.py" --complete "$tests/../../docs/schemas/whatif.json" <$file.json >/dev/null || echo "$file.json breaks the schema"
    done
fi
echo 'the best first, in whatever order the rows are; none where nothing helps; not in Markdown'
cpt whatif --sweep 1us --by operation --sort name spans.json | head -3
cpt whatif --sweep 1us --by operation --set '*: *=0' spans.json
cpt whatif --sweep 50% --format markdown spans.json | head -1
echo 'wrong'
cpt whatif --by service spans.json || echo "exit $?"
cpt whatif --by services --sweep 50% spans.json || echo "exit $?"
