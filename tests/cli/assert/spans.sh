# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# rules on spans: which traces break them, and the exit status for tests
cat >spans.json <<'END'
{"data": [{"traceID": "0102030405060708090a0b0c0d0e0f10",
 "processes": {"p1": {"serviceName": "front"}, "p2": {"serviceName": "cart"}},
 "spans": [
 {"spanID": "a", "operationName": "read", "processID": "p1", "startTime": 1700000000000000,
  "duration": 100000, "references": [], "tags": [{"key": "span.kind", "value": "server"}]},
 {"spanID": "b", "operationName": "POST", "processID": "p1", "startTime": 1700000000010000,
  "duration": 60000, "references": [{"refType": "CHILD_OF", "spanID": "a"}],
  "tags": [{"key": "span.kind", "value": "client"}]},
 {"spanID": "c", "operationName": "cart/add", "processID": "p2",
  "startTime": 1700000000020000, "duration": 40000,
  "references": [{"refType": "CHILD_OF", "spanID": "b"}],
  "tags": [{"key": "span.kind", "value": "server"}]},
 {"spanID": "d", "operationName": "SELECT", "processID": "p1",
  "startTime": 1700000000075000, "duration": 20000,
  "references": [{"refType": "CHILD_OF", "spanID": "a"}],
  "tags": [{"key": "span.kind", "value": "client"}, {"key": "peer.service", "value": "db-master"}]},
 {"spanID": "e", "operationName": "log", "processID": "p1",
  "startTime": 1700000000080000, "duration": 1000,
  "references": [{"refType": "CHILD_OF", "spanID": "a"}]}
 ]},
 {"traceID": "2",
 "processes": {"p1": {"serviceName": "front"}},
 "spans": [
 {"spanID": "a", "operationName": "write", "processID": "p1", "startTime": 1700000001000000,
  "duration": 100000, "references": []}]}]}
END
holds() { cpt assert "$1" spans.json; echo "exit $?"; }
holds 'no span("db-master") under span("read")'
holds 'no span("db-master: SELECT") under span("write")'
holds 'some span("front: *") and at most 1 span("front: *") and no span("front: POST")'
holds 'every span("log") on the path and no span("log") on path'
holds 'no span("db*") directly under span("cart*") and some span("cart") under span("front")'
holds 'some span("cart*") under span("read") and at least 1 span("db-master") under span("read") on the path'
holds 'span("cart: *") before span("db-master") and span("db-master") before span("cart*")'
cpt assert --json 'no span("db-master") under span("read") and some span("cart")' spans.json; echo "exit $?"
cpt assert --max-bytes 150 'some span("cart") and some span("log")' spans.json; echo "exit $?"

# each service wrote a file: what is below a span is in another one
mkdir parts || exit
printf '{"traceId":"5","id":"1","name":"read","timestamp":1000,"duration":100,"localEndpoint":{"serviceName":"front"}}' >parts/1.json
printf '{"traceId":"5","id":"2","parentId":"1","name":"get","timestamp":1010,"duration":5,"localEndpoint":{"serviceName":"db"}}' >parts/2.json
cpt assert 'no span("db") under span("front")' parts/*.json; echo "exit $?"
