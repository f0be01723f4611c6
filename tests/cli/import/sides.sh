# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# spans that share an id, and clients' spans that are more than one call: in paths, edges, sections, rules
cat >shared.json <<'END'
[[{"traceId":"1","id":"1","kind":"SERVER","name":"get","timestamp":1000,"duration":100,"localEndpoint":{"serviceName":"front"}},
{"traceId":"1","parentId":"1","id":"2","kind":"CLIENT","name":"call","timestamp":1010,"duration":80,"localEndpoint":{"serviceName":"front"}},
{"traceId":"1","parentId":"1","id":"2","kind":"SERVER","shared":true,"name":"check","timestamp":1011,"duration":2,"localEndpoint":{"serviceName":"policy"}},
{"traceId":"1","parentId":"1","id":"2","kind":"SERVER","shared":true,"name":"add","timestamp":1020,"duration":60,"localEndpoint":{"serviceName":"cart"}},
{"traceId":"1","parentId":"2","id":"3","name":"find","timestamp":1030,"duration":40,"localEndpoint":{"serviceName":"cart"}}],
[{"traceId":"2","id":"1","kind":"SERVER","name":"get","timestamp":1000,"duration":100,"localEndpoint":{"serviceName":"front"}},
{"traceId":"2","parentId":"1","id":"2","kind":"CLIENT","name":"call","timestamp":1010,"duration":80,"localEndpoint":{"serviceName":"front"}},
{"traceId":"2","parentId":"1","id":"2","kind":"SERVER","shared":true,"name":"add","timestamp":1011,"duration":20,"localEndpoint":{"serviceName":"cart"}},
{"traceId":"2","parentId":"1","id":"2","kind":"SERVER","shared":true,"name":"add","timestamp":1040,"duration":45,"localEndpoint":{"serviceName":"cart"}}]]
END
cpt import -o shared.cptlog shared.json
cpt folded shared.cptlog
cpt import --sections shared.json | tr '}' '\n' | grep -c span_id
cpt pprof --view edge -o shared.pb.gz shared.cptlog >edges.txt 2>&1 || cat edges.txt
cpt explain --json 2 2 shared.json | sed 's/.*"span_id"/"span_id"/'
for rule in 'no span("cart: add")' 'at least 2 span("cart: add") directly under span("front: get")' \
    'no span("cart") under span("policy")' 'every span("cart: find") under span("cart: add")' 'at most 1 span("front")'; do
    for file in shared.json shared.cptlog; do
        cpt assert "$rule" $file | grep -e holds -e BROKEN -e 'in . trace'
    done
done
# what does not count below a span that does not say of which side it is: spans without a
# time, alone or above others, and spans outside of its time; others do
cat >left.py <<'EOF'
import json

KEYS = ("traceId", "parentId", "id", "name", "timestamp", "duration")


def span(service, *values):
    found = {key: value for key, value in zip(KEYS, values) if value is not None}
    return {**found, "localEndpoint": {"serviceName": service}}


def trace(number, *more):
    return [span("front", number, None, "1", "get", 1000, 100),
            span("front", number, "1", "2", "call", 1010, 80),
            span("cart", number, "2", "3", "add", 1020, 60), *more]


timeless = span("stock", "6", "2", "4", "reserve", None, None)
outside = span("stock", "7", "2", "4", "reserve", 1200, 10)
below_outside = span("stock", "7", "4", "5", "count", 1200, 5)
within = span("stock", "8", "2", "4", "reserve", 1012, 5)
chain = [{**timeless, "traceId": "9"}, span("stock", "9", "4", "5", "count", None, None),
         span("stock", "9", "5", "6", "sum", 1200, 10)]
held = [{**timeless, "traceId": "a"}, span("stock", "a", "4", "5", "count", 1012, 5)]
print(json.dumps([trace("5"), trace("6", timeless), trace("7", outside, below_outside),
                  trace("8", within), trace("9", *chain), trace("a", *held)]))
EOF
python3 left.py >left.json
cpt import -o left.cptlog left.json 2>/dev/null
cpt log --json left.cptlog | sed 's/.*"segments"://'
# the longer one of two copies stays, also if neither says its kind; one that does is better
cat >copies.json <<'END_OF_COPIES'
[[{"traceId":"1","id":"1","name":"get","timestamp":1000,"duration":100,"localEndpoint":{"serviceName":"front"}},
{"traceId":"1","parentId":"1","id":"2","name":"old","timestamp":1010,"duration":20,"localEndpoint":{"serviceName":"cart"}},
{"traceId":"1","parentId":"1","id":"2","name":"new","timestamp":1010,"duration":40,"localEndpoint":{"serviceName":"cart"}},
{"traceId":"1","parentId":"1","id":"2","name":"mid","timestamp":1010,"duration":30,"localEndpoint":{"serviceName":"cart"}}],
[{"traceId":"2","id":"1","name":"get","timestamp":1000,"duration":100,"localEndpoint":{"serviceName":"front"}},
{"traceId":"2","parentId":"1","id":"2","name":"add","timestamp":1010,"duration":40,"localEndpoint":{"serviceName":"cart"}},
{"traceId":"2","parentId":"1","id":"2","kind":"SERVER","name":"add","timestamp":1010,"duration":20,"localEndpoint":{"serviceName":"cart"}}]]
END_OF_COPIES
cpt import --sections copies.json 2>/dev/null | grep -o '"2","start_us":[0-9]*,"end_us":[0-9]*'
