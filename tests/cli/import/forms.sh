# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# spans as indexes, answers and older tracers have them; what is read of each, and what is told
paths() {
    cpt import -o x.cptlog "$@"
    echo "exit $?"
    [ ! -f x.cptlog ] || cpt folded x.cptlog
    rm -f x.cptlog
}

# Elasticsearch: tags as fields; an answer, and its documents one a line
jaeger() { # id parent kind service start duration
    printf '{"traceID":"0a1","spanID":"%s","operationName":"o%s","references":[%s],"startTime":%s,"duration":%s,' \
        "$1" "$1" "$2" "$5" "$6"
    printf '"tags":[],"tag":{"span@kind":"%s","error":true},"process":{"serviceName":"%s","tags":[],"tag":{"host@name":"h"}}}' \
        "$3" "$4"
}
child() { printf '{"refType":"CHILD_OF","traceID":"0a1","spanID":"%s"}' "$1"; }
{
    jaeger 1 '' server front 1000 100 && echo
    jaeger 2 "$(child 1)" client front 1010 80 && echo
    jaeger 3 "$(child 2)" server cart 1020 60 && echo
} >sources.jsonl
sed 's/.*/{"_index":"jaeger-span-x","_id":"1","_source":&}/' sources.jsonl >documents.jsonl
{ printf '{"took":3,"hits":{"total":3,"hits":[' && paste -sd, documents.jsonl && printf ']}}'; } >answer.json
for file in sources.jsonl documents.jsonl answer.json; do
    paths "$file"
done
cpt import -o x.cptlog answer.json && cpt log x.cptlog | grep -o 'error'
rm x.cptlog
cpt import --annotate - answer.json | tr '{' '\n' | grep -c '"key":"cpt.path_ns"'

# ids in base64 and in hexadecimal digits are of one trace
otlp() { # trace id parent service start end
    printf '{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"%s"}}]},' "$4"
    printf '"scopeSpans":[{"spans":[{"traceId":"%s","spanId":"%s","parentSpanId":"%s","name":"n","kind":2,' "$1" "$2" "$3"
    printf '"startTimeUnixNano":"%s","endTimeUnixNano":"%s"}]}]}]}\n' "$5" "$6"
}
otlp 5b8efff798038103d269b633813fc60c 00000000000000a1 '' front 1000 101001 >hex.json
otlp W47/95gDgQPSabYzgT/GDA== AAAAAAAAALE= AAAAAAAAAKE= cart 20000 70000 >base64.json
cpt import --sections hex.json base64.json
cpt explain --json W47/95gDgQPSabYzgT/GDA== AAAAAAAAAKE= hex.json | grep -o '"span_id":"[^"]*"'

# within something else: of Tempo, of Jaeger; beside other signals
otlp 0b 1 '' front 1000 3000 | sed 's/resourceSpans/batches/' >tempo.json
otlp 0c 1 '' front 1000 3000 | sed 's/.*/{"result":&}/' >result.json
{ echo '{"resourceMetrics":[{}]}' && otlp 0d 1 '' front 1000 3000 | sed 's/"kind"/"later":1,"kind"/' &&
    echo '{"resourceLogs":[]}' && echo '{}'; } >signals.jsonl
paths tempo.json result.json signals.jsonl
cpt import --annotate - tempo.json | grep -o '"cpt.path_ns".*'
cpt import --annotate - result.json | grep -o '"cpt.path_ns".*'

# Zipkin: a span in pieces; the lower half of an id in a list of one trace
cat >zipkin.json <<'END_OF_FILE'
[[{"traceId":"463ac35c9f6413ad48485a3953bb6124","id":"1","name":"get","kind":"SERVER","timestamp":1000,"duration":100,
   "localEndpoint":{"serviceName":"front"}},
  {"traceId":"48485a3953bb6124","id":"2","parentId":"1","name":"call","kind":"CLIENT","timestamp":1020,
   "localEndpoint":{"serviceName":"front"}},
  {"traceId":"463ac35c9f6413ad48485a3953bb6124","id":"2","parentId":"1","kind":"CLIENT","duration":50,
   "localEndpoint":{"serviceName":"front"},"remoteEndpoint":{"serviceName":"cart"}}]]
END_OF_FILE
paths zipkin.json
cpt import --annotate - zipkin.json | grep -o '"cpt.path_ns".*'

# OpenTelemetry: the start from one piece, the end from the other; a root without a start
{ otlp 0e 1 '' front 1700000000000000000 1700000000000100000 && otlp 0e 2 1 front 1700000000000020000 0 &&
    otlp 0e 2 1 front 0 1700000000000070000 && otlp 0f 1 '' front 0 1700000000000100000 &&
    otlp 0f 2 1 cart 1700000000000020000 1700000000000070000; } >unset.json
paths unset.json

# a text that is none costs nothing but itself
printf '{"traceID":"1","spanID":"a","operationName":"x\\ud83dy","startTime":1,"duration":2,"tags":[{"key":"k","value":"\377"}]}' >bad.json
paths bad.json
cpt import --annotate - bad.json | grep -c 'x.ud83dy.*cpt.path_ns'

# refused, by name
echo '[[{"traceId":"a","id":"1","annotations":[{"timestamp":1,"value":"sr","endpoint":{"serviceName":"x"}}]}]]' >v1.json
echo '{"resource_spans":[{"scope_spans":[]}]}' >snake.json
echo '{"resourceSpans":[{"scope_spans":[]}]}' >inner.json
echo '{"traceId":"AQ==","spanId":"AQ==","operationName":"o","startTime":"2026-01-01T00:00:00Z"}' >domain.json
for file in v1 snake inner domain; do
    paths $file.json
done
