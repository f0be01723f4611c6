# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# grpc_cpp.sh SOURCE BUILD - a service on grpc++ in the middle of services in C, over HTTP
# and gRPC, as processes:
#
#      curl --HTTP--> A --gRPC--> M (grpc++) --gRPC--> C --HTTP--> D
#
# One path crosses all, and adds up at each hop. Only interceptors were added to M.
. "$(dirname "$0")/system.sh"
source=$1
build=$2
. "$(dirname "$0")/grpc_middle_build.sh"
need curl python3
GRPC_VERBOSITY=NONE
export GRPC_VERBOSITY

say 'the service compiles, without a warning in our header'
build_grpc_middle "$source" "$build"

# port NAME: of its server for gRPC.
port() {
    await "$1.out" '^grpc '
    sed -n 's/^grpc //p' "$1.out"
}

# page NAME QUERY: asks A for a page with a path, to NAME and NAME.txt.
page() {
    ask "$a/?$2" "$1" 'critical-path: 1;forced'
    "$CPT" metadata <"$1" >"$1.txt" 2>&1 || fail "$2: $(cat "$1" "$1.txt")"
}

# has FILE PATTERN...: each of them in a line of the path.
has() {
    file=$1
    shift
    for pattern; do
        grep -q "$pattern" "$file" || fail "no '$pattern' in $(cat "$file")"
    done
}

rm -rf logs-*
mkdir logs-a logs-m logs-c logs-d
start d "$CPT_HELPERS/grpc_chain" D --listen 127.0.0.1:0 --probability 1 --log logs-d
await d.out 'listens on'
d=$(sed -n 's/.*listens on //p' d.out)
start c "$CPT_HELPERS/grpc_chain" C --listen 127.0.0.1:0 --probability 1 --log logs-c \
    --to "d=http://$d"
c_pid=$pid
c=127.0.0.1:$(port c)
start m ./grpc_middle serve "$c" logs-m
m_pid=$pid
m=127.0.0.1:$(port m)
start a "$CPT_HELPERS/grpc_chain" A --listen 127.0.0.1:0 --probability 1 --log logs-a \
    --trust 127.0.0.0/8 --to "m=$m"
a_pid=$pid
await a.out 'listens on'
a=http://$(sed -n 's/.*listens on //p' a.out)

say 'one path crosses HTTP and gRPC'
page once once
[ "$(tail -c 10 once.body)" = 'hello once' ] || fail "the body is $(cat once.body)"
has once.txt 'A: page' 'M: /demo.Greeter/Hello' 'C: stock' 'D: leaf\|d: nap' 'network'
if grep -q 'blind spot' once.txt; then fail "a blind spot: $(cat once.txt)"; fi

say 'calls in a row, at once, and beside computing'
page twice twice
page both both
page overlap overlap
for name in twice both overlap; do
    has $name.txt 'A: page' 'M: ' 'C: stock'
    if grep -q 'unattributed' $name.txt; then fail "$name: $(cat $name.txt)"; fi
done

say 'baggage that M just takes leaves no room to ask: the call is a blind spot, and passes'
letters=$(printf '%7500s' x | tr ' ' x)
for size in 6000 7300 7400 7500; do
    baggage="k=$(printf "%.${size}s" "$letters")"
    for header in 'critical-path: 1;forced' 'x-other: 1'; do
        curl -s --max-time 60 -D heavy -o heavy.body -H "baggage: $baggage" -H "$header" "$a/?once"
        [ "$(tail -c 10 heavy.body)" = 'hello once' ] || fail "baggage of $size, $header: $(cat heavy.body)"
        [ "$header" = 'x-other: 1' ] || path_of heavy | "$CPT" metadata >"heavy.$size.txt"
    done
done
has heavy.6000.txt 'M: /demo.Greeter/Hello'
has heavy.7500.txt 'blind spot. (limit)'

say 'drags: what M computes while C is called is no part of the drag of that call'
tries=5 # a busy machine may delay anything
until
    ask "$a/?overlap" dragged 'critical-path: 1;forced;drag'
    "$CPT" metadata --json "$(path_of dragged)" >dragged.json
    python3 "$(dirname "$0")/drags.py" figure 'demo.Greeter: Hello' 1000000 <dragged.json
do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "$(cat dragged.json)"
done

say 'deadlines, cancelled calls and errors'
page late deadline
has late.txt 'timeout'
page cancelled cancel
has cancelled.txt 'M: '
page failed fail
head -1 failed | grep -q ' 404' || fail "$(cat failed)"
has failed.txt 'status NOT_FOUND'
has failed.txt 'M: '

say 'clients that know nothing of us see nothing of it'
[ "$(./grpc_middle call "$m" once)" = 'hello once status 0 paths 0' ] || fail 'a plain call'
[ "$(./grpc_middle call "$m" fail)" = ' status 5 paths 0' ] || fail 'a plain call that fails'
[ "$(./grpc_middle call "$m" stream-x)" = 'x0 x1 x2 status 0 paths 0' ] || fail 'a plain stream'
[ "$(./grpc_middle call "$m" asked-once)" = 'hello once status 0 paths 1' ] || fail 'asked'
base64 -w0 path.bin | "$CPT" metadata >asked.txt
has asked.txt 'M: ' 'C: stock'
[ "$(./grpc_middle call "$m" asked-once critical-path-nonce=3b9aca00c0ffee11)" = \
    'hello once status 0 paths 1' ] || fail 'asked with a nonce'
od -An -v -tx1 path.bin | tr -d ' \n' | grep -q '990111eeffc000ca9a3b' || fail 'no nonce in the path'
[ "$(./grpc_middle call "$m" asked-bytes)" = 'hello bytes status 0 paths 1' ] || fail 'bytes'

say 'a service that copies metadata asks once, answers once, and gives no path away'
page gateway gateway
has gateway.txt 'A: page' 'M: ' 'C: stock'
if grep -q 'blind spot' gateway.txt; then fail "a blind spot: $(cat gateway.txt)"; fi
[ "$(./grpc_middle call "$m" asked-gateway)" = 'hello gateway status 0 paths 1' ] ||
    fail "asked of a gateway: $(./grpc_middle call "$m" asked-gateway)"
[ "$(./grpc_middle call "$m" gateway)" = 'hello gateway status 0 paths 0' ] ||
    fail "a gateway gave a path away"

say 'a stream has its path behind the last message'
[ "$(./grpc_middle call "$m" asked-stream-x)" = 'x0 x1 x2 status 0 paths 1' ] || fail 'stream'
base64 -w0 path.bin | "$CPT" metadata >stream.txt
has stream.txt 'M: /demo.Greeter/Count' 'C: stock'

say 'streams between C and grpc++, in both directions'
[ "$(./grpc_middle call "$c" stream-x)" = 'x0 x1 x2 status 0 paths 0' ] || fail 'stream of C'
[ "$(./grpc_middle call "$c" asked-stream-x)" = 'x0 x1 x2 status 0 paths 1' ] ||
    fail 'stream of C, asked'
page counted count
grep -q 'hello count count0 count1 count2$' counted.body || fail "$(cat counted.body)"
has counted.txt 'A: page' 'M: ' 'C: count' 'D: leaf\|d: nap'
ask "$a/count?x" stream 'critical-path: 1;forced'
[ "$(cat stream.body)" = 'x0,x1,x2,' ] || fail "the stream is $(cat stream.body)"
"$CPT" metadata <stream >stream.txt 2>&1 || fail "$(cat stream stream.txt)"
has stream.txt 'A: page' 'M: /demo.Greeter/Count' 'C: stock'
if grep -q 'blind spot' counted.txt stream.txt; then fail "$(cat counted.txt stream.txt)"; fi

. "$(dirname "$0")/grpc_context.sh"
. "$(dirname "$0")/grpc_graphs.sh"

say 'a callee that is killed is a blind spot, and no crash'
kill -9 "$c_pid"
page killed once
has killed.txt 'M: ' 'blind spot'
head -1 killed | grep -q ' 502' || fail "$(cat killed)"

say 'at each hop the records add up to the latency'
kill "$a_pid"
kill "$m_pid"
wait "$a_pid" || fail "A ends with $(cat a.err)"
wait "$m_pid" || fail "M ends with $(cat m.err)"
"$CPT" log --check logs-a >checked || fail "$(cat checked)"
"$CPT" log --check logs-m >>checked || fail "$(cat checked)"
cat checked
say 'all is well'
