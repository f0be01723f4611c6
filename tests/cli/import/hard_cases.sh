# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# spans of which it is not plain who waited, or where they belong: one rule each
cat >otlp.json <<'END'
{"resourceSpans": [{"resource": {"attributes": [
   {"key": "service.name", "value": {"stringValue": "front"}}]},
 "scopeSpans": [{"spans": [
 {"traceId": "0a", "spanId": "a1", "name": "from the epoch", "kind": 2,
  "startTimeUnixNano": "0", "endTimeUnixNano": "100000"},
 {"traceId": "0a", "spanId": "b1", "parentSpanId": "a1", "name": "ends before it begins", "kind": 1,
  "startTimeUnixNano": "60000", "endTimeUnixNano": "50000"},
 {"traceId": "0a", "spanId": "c1", "parentSpanId": "b1", "name": "below one without a time", "kind": 1,
  "startTimeUnixNano": "20000", "endTimeUnixNano": "30000"},
 {"traceId": "0a", "spanId": "d1", "name": "linked, so another root", "kind": 5,
  "startTimeUnixNano": "40000", "endTimeUnixNano": "90000",
  "links": [{"traceId": "0a", "spanId": "a1"}]},
 {"traceId": "0a", "spanId": "e1", "parentSpanId": "a1", "name": "of no length", "kind": 1,
  "startTimeUnixNano": "50000", "endTimeUnixNano": "50000"},
 {"traceId": "0a", "spanId": "f1", "parentSpanId": "a1", "name": "send", "kind": 4,
  "startTimeUnixNano": "70000", "endTimeUnixNano": "80000"},
 {"traceId": "0a", "spanId": "g1", "parentSpanId": "f1", "name": "receive", "kind": 5,
  "startTimeUnixNano": "71000", "endTimeUnixNano": "79000"},
 {"traceId": "0a", "spanId": "h1", "parentSpanId": "99", "name": "an orphan", "kind": 1,
  "startTimeUnixNano": "10000", "endTimeUnixNano": "95000"},
 {"traceId": "0a", "spanId": "i1", "parentSpanId": "j1", "name": "a cycle", "kind": 1,
  "startTimeUnixNano": "10000", "endTimeUnixNano": "95000"},
 {"traceId": "0a", "spanId": "j1", "parentSpanId": "i1", "name": "a cycle", "kind": 1,
  "startTimeUnixNano": "10000", "endTimeUnixNano": "95000"},
 {"traceId": "0a", "spanId": "c1", "parentSpanId": "a1", "name": "twice", "kind": 1,
  "startTimeUnixNano": "20000", "endTimeUnixNano": "31000"}
 ]}]}]}
END
cat >jaeger.json <<'END'
{"data": [{"traceID": "0b", "processes": {"p1": {"serviceName": "front"}}, "spans": [
 {"spanID": "a1", "operationName": "/", "processID": "p1", "startTime": 1000, "duration": 100},
 {"spanID": "b1", "operationName": "follows", "processID": "p1", "startTime": 1010, "duration": 90,
  "references": [{"refType": "FOLLOWS_FROM", "traceID": "0b", "spanID": "a1"}]},
 {"spanID": "c1", "operationName": "negative", "processID": "p1", "startTime": 1010, "duration": -5,
  "references": [{"refType": "CHILD_OF", "traceID": "0b", "spanID": "a1"}]}]}]}
END
cpt import --sections otlp.json; echo "exit $?"
cpt import --sections jaeger.json; echo "exit $?"
for span in b1 c1 d1 e1 g1 h1 i1; do
    cpt explain --json 0a $span otlp.json | sed 's/.*"span_id"/"span_id"/'
done
