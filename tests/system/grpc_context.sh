# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# grpc_context.sh - sourced by grpc_cpp.sh: trace contexts, B3 and baggage on the wire
#
#      curl --HTTP--> A --gRPC--> M (grpc++) --gRPC--> C --HTTP--> W, which notes them
#
# What W gets has passed each kind of service and both protocols. M traces each request,
# and then none.
# shellcheck shell=sh
need python3
parent=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331
b3=80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1
large=$(python3 -c 'print("a=" + "1" * 4000 + ",b=" + "2" * 4187)')

# noted: what W got since it was asked last: a line of a request, "traceparent|tracestate|"
# and "baggage|b3|x-b3-traceid|…".
noted() {
    sed -n "$((seen + 1)),\$p" noted >noted.new
    seen=$(wc -l <noted)
    cat noted.new
}

# passes WHAT WANTED COMMAND...: after COMMAND W has noted WANTED, a regular expression, and
# $others behind it.
others='||||||'
passes() {
    what=$1
    wanted="$2|$others"
    shift 2
    "$@" >passes.out || fail "$what: $(cat passes.out)"
    noted >passes.got
    [ "$(wc -l <passes.got)" = 1 ] && grep -qx "$wanted" passes.got ||
        fail "$what: '$(cat passes.got)', not '$wanted'"
}

: >noted
seen=0
start w python3 "$(dirname "$0")/note_headers.py" noted traceparent tracestate \
    baggage b3 x-b3-traceid x-b3-spanid x-b3-parentspanid x-b3-sampled x-b3-flags
await w.out 'listens on'
start cw "$CPT_HELPERS/grpc_chain" C --listen 127.0.0.1:0 --probability 1 \
    --to "d=http://$(sed -n 's/.*listens on //p' w.out)"
cw=127.0.0.1:$(port cw)

for probability in 1 0; do
    say "trace contexts go through, with probability $probability in the service on grpc++"
    mkdir -p logs-mw
    start mw ./grpc_middle serve "$cw" logs-mw $probability
    mw_pid=$pid
    mw=127.0.0.1:$(port mw)
    start aw "$CPT_HELPERS/grpc_chain" A --listen 127.0.0.1:0 --probability $probability \
        --to "m=$mw"
    aw_pid=$pid
    await aw.out 'listens on'
    aw=http://$(sed -n 's/.*listens on //p' aw.out)/
    start tw "$CPT_HELPERS/grpc_chain" A --listen 127.0.0.1:0 --probability $probability \
        --trust 127.0.0.0/8 --to "m=$mw"
    tw_pid=$pid
    await tw.out 'listens on'
    tw=http://$(sed -n 's/.*listens on //p' tw.out)/

    passes 'as they came' "$parent-05|a=1 , b=2" \
        curl -s -H "traceparent: $parent-05" -H 'tracestate: a=1 , b=2' "$aw"
    passes 'several lines' "$parent-01|a=1,b=2" curl -s -H "traceparent: $parent-01" \
        -H 'tracestate: a=1' -H 'tracestate: b=2' "$aw"
    passes 'a malformed tracestate' "$parent-00|" \
        curl -s -H "traceparent: $parent-00" -H 'tracestate: a=1,=' "$aw"
    passes 'without' '00-[0-9a-f]\{32\}-[0-9a-f]\{16\}-0[23]|\(ot=th:[0-9a-f]*\)\{0,1\}' \
        curl -s "$aw"
    passes 'of another client' "$parent-01|x=y" \
        ./grpc_middle call "$mw" x "traceparent=$parent-01" tracestate=x=y
    passes 'lines over gRPC' "$parent-01|x=y,z=1" ./grpc_middle call "$mw" x \
        "traceparent=$parent-01" tracestate=x=y tracestate=z=1
    passes 'malformed over gRPC' "$parent-01|" \
        ./grpc_middle call "$mw" x "traceparent=$parent-01" tracestate==
    passes 'two of them' '00-[0-9a-f]\{32\}-[0-9a-f]\{16\}-0[23]|.*' ./grpc_middle call \
        "$mw" x "traceparent=$parent-01" "traceparent=$parent-00" tracestate=x=y
    if grep -q "$parent\|x=y" passes.got; then fail "two of them: $(cat passes.got)"; fi
    passes 'made by grpc++' '00-[0-9a-f]\{32\}-[0-9a-f]\{16\}-0[23]|.*' \
        ./grpc_middle call "$mw" x
    passes 'of the application' "00-1\\{32\\}-2\\{16\\}-00|" \
        ./grpc_middle call "$mw" own "traceparent=$parent-01" tracestate=x=y

    any='00-[0-9a-f-]*|\(ot=th:[0-9a-f]*\)\{0,1\}'
    all="user=7;p , b=%2C|$b3-1|${b3%-*}|${b3#*-}|05e3ac9a4f6e3b90|1|0"
    others=$all
    passes 'B3 and baggage' "$any" curl -s -H 'Baggage: user=7;p , b=%2C' -H "b3: $b3-1" \
        -H "X-B3-TraceId: ${b3%-*}" -H "X-B3-SpanId: ${b3#*-}" \
        -H 'X-B3-ParentSpanId: 05e3ac9a4f6e3b90' -H 'X-B3-Sampled: 1' -H 'X-B3-Flags: 0' "$tw"
    passes 'B3 and baggage over gRPC' "$any" ./grpc_middle call "$mw" x \
        'baggage=user=7;p , b=%2C' "b3=$b3-1" "x-b3-traceid=${b3%-*}" "x-b3-spanid=${b3#*-}" \
        x-b3-parentspanid=05e3ac9a4f6e3b90 x-b3-sampled=1 x-b3-flags=0
    others='a=1,b=2,c=3||||||'
    passes 'lines of baggage' "$any" \
        curl -s -H 'baggage: a=1,b=2' -H 'X: y' -H 'Baggage: c=3' "$tw"
    passes 'lines of baggage over gRPC' "$any" \
        ./grpc_middle call "$mw" x baggage=a=1,b=2 baggage=c=3
    others='mine=1|0|||||'
    passes 'those of the application' "$any" ./grpc_middle call "$mw" 'own baggage' \
        baggage=a=1 "x-b3-traceid=${b3%-*}" "x-b3-spanid=${b3#*-}"
    others=$large'||||||'
    passes 'baggage of 8,192 bytes' "$any" ./grpc_middle call "$cw" x "baggage=$large"
    passes 'baggage that is too large' "$any" \
        ./grpc_middle call "$cw" x "baggage=$large" baggage=c=3
    others='a=1||||||'
    passes 'a member that is too large' "$any" \
        ./grpc_middle call "$cw" x baggage=a=1 "baggage=b=$(printf %s "$large" | tr , x)"
    others='||||||'
    passes 'those of a stranger' "$any" curl -s -H 'baggage: a=1' -H "b3: $b3-1" "$aw"
    passes 'those of a proxy' "$any" \
        curl -s -H 'baggage: a=1' -H "b3: $b3-1" -H 'X-Forwarded-For: 192.0.2.1' "$tw"
    passes 'a malformed context of B3' "$any" \
        curl -s -H "X-B3-TraceId: ${b3%-*}" -H 'X-B3-SpanId: 1 2' "$tw"

    kill "$aw_pid" "$tw_pid" "$mw_pid"
    wait "$mw_pid" || fail "M ends with $(cat mw.err)"
    wait "$aw_pid" || fail "A ends with $(cat aw.err)"
    wait "$tw_pid" || fail "A ends with $(cat tw.err)"
    grep -q '^refused_traceparents 1$' mw.out || fail "$(cat mw.out)"
    grep -q '^refused_tracestates 1$' mw.out || fail "$(cat mw.out)"
done
