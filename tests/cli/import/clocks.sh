# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# hosts whose clocks differ are put right, in each format, and it is told; others stay
cat >zipkin.json <<'END'
[[{"traceId": "7a", "id": "a1", "kind": "SERVER", "name": "get /", "timestamp": 1700000000000000,
   "duration": 100000, "localEndpoint": {"serviceName": "front", "ipv4": "10.0.0.1"}},
  {"traceId": "7a", "id": "b1", "parentId": "a1", "kind": "CLIENT", "name": "find",
   "timestamp": 1700000000010000, "duration": 80000,
   "localEndpoint": {"serviceName": "front", "ipv4": "10.0.0.1"}},
  {"traceId": "7a", "id": "b1", "parentId": "a1", "kind": "SERVER", "name": "find", "shared": true,
   "timestamp": 1700000002020000, "duration": 50000,
   "localEndpoint": {"serviceName": "store", "ipv6": "fd00::2"}},
  {"traceId": "7a", "id": "c1", "parentId": "b1", "name": "scan",
   "timestamp": 1700000002030000, "duration": 20000,
   "localEndpoint": {"serviceName": "store", "ipv6": "fd00::2"}}]]
END
cat >jaeger.json <<'END'
{"data": [{"traceID": "7b",
 "processes": {"p1": {"serviceName": "front", "tags": [{"key": "ip", "value": "10.0.0.1"},
                                                       {"key": "host.name", "value": "one"}]},
               "p2": {"serviceName": "store", "tags": [{"key": "hostname", "value": "two"}]}},
 "spans": [
 {"spanID": "a1", "operationName": "find", "processID": "p1", "startTime": 1700000000000000,
  "duration": 100000},
 {"spanID": "b1", "operationName": "find", "processID": "p2", "startTime": 1699999999000000,
  "duration": 50000, "references": [{"refType": "CHILD_OF", "spanID": "a1"}]}]}]}
END
cat >otlp.json <<'END'
{"resourceSpans": [
 {"resource": {"attributes": [{"key": "host.id", "value": {"stringValue": "h1"}},
                              {"key": "service.name", "value": {"stringValue": "front"}}]},
  "scopeSpans": [{"spans": [{"traceId": "7c", "spanId": "a1", "name": "find", "kind": 3,
    "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000100000000"}]}]},
 {"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "store"}},
                              {"key": "service.instance.id", "value": {"stringValue": "s-1"}}]},
  "scopeSpans": [{"spans": [{"traceId": "7c", "spanId": "b1", "parentSpanId": "a1", "name": "find",
    "kind": 2,
    "startTimeUnixNano": "1700000000070000001", "endTimeUnixNano": "1700000000120000001"}]}]}]}
END
cpt import --sections zipkin.json jaeger.json otlp.json || exit
# other tools move nothing
cpt import --sections --mode=jaeger-ui otlp.json
# without skew nothing is said
sed 's/0000000020/0000000000/; s/0000000030/0000000010/; s/17000000020/17000000000/' zipkin.json | cpt import --sections -
