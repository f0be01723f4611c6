# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# each service wrote a file: a trace is one all the same, if its spans come one by one
mkdir -p otlp zipkin jaeger || exit
# spans TRACE SPAN PARENT START_US END_US
spans() {
    printf '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%s","spanId":"%s","parentSpanId":"%s",' "$1" "$2" "$3"
    printf '"name":"op","startTimeUnixNano":"%s000","endTimeUnixNano":"%s000"}]}]}]}\n' "$4" "$5"
}
{ spans a1 a '' 1000 1100; spans b1 a '' 2000 2100; } >otlp/front.json
{ spans b1 b a 2010 2050; spans a1 b a 1020 1070; } | gzip >otlp/store.json.gz
cpt import --sections otlp
cpt import --sections otlp/store.json.gz otlp/front.json 2>/dev/null

printf '[{"traceId":"7","id":"1","timestamp":1000,"duration":100}]' >zipkin/1.json
printf '[{"traceId":"7","id":"2","parentId":"1","timestamp":1010,"duration":50},' >zipkin/2.json # cut
cpt import --sections zipkin; echo "exit $?"

# elements of "data" are whole traces, so these are several; they are named
printf '{"data":[{"traceID":"9","spans":[{"spanID":"1","startTime":1000,"duration":100}]}]}' >jaeger/1.json
printf '{"data":[{"traceID":"09","spans":[{"spanID":"2","startTime":1010,"duration":5}]}]}' >jaeger/2.json
for i in 1 2 3 4; do
    cp jaeger/2.json jaeger/3$i.json
done
cpt import --sections jaeger >/dev/null; echo "exit $?"
