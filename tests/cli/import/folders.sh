# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a folder of spans, some of them sampled; ids are numbers, and zeros in front mean nothing
mkdir -p spans/more || exit
cat >spans/b.json <<'EOF'
{"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "front"}}]},
 "scopeSpans": [{"spans": [{"traceId": "00000000000000000a0b0c0d0e0f1011", "spanId": "0a", "name": "GET /",
 "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000100000000",
 "traceState": "vendor=x,ot=th:c;rv:1", "kind": 2}]}]}]}
{"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "cart"}}]},
 "scopeSpans": [{"spans": [{"traceId": "A0b0c0d0e0f1011", "spanId": "b", "parentSpanId": "000a", "name": "add",
 "startTimeUnixNano": "1700000000020000000", "endTimeUnixNano": "1700000000070000000", "kind": 2}]}]}]}
EOF
printf '[[{"traceId": "7", "id": "1", "name": "x", "timestamp": 1700000000000001, "duration": 5}]]' |
    gzip >spans/more/a.json.gz
# OpenTelemetry's protobuf, behind its length: a span of 1 ms
{
    printf '\000\000\000\072\012\070\022\066\022\064'
    printf '\012\020\000\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017'
    printf '\022\010\001\001\001\001\001\001\001\001\052\004ping'
    printf '\071\000\000\000\000\000\000\000\000\101\100\102\017\000\000\000\000\000'
} >spans/c.pb
echo 'not a span' >spans/README
printf '\000\000\000\005other' >spans/other.bin
cpt import spans -o all.cptlog || exit
cpt show --record=1 all.cptlog || exit
cpt log all.cptlog
mkdir empty && touch empty/x
cpt import empty -o none.cptlog; echo "exit $?"
