# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# which span has the critical path, and when; in the other tools' ways, too
cat >spans.json <<'END'
{"data": [{"traceID": "0102030405060708090a0b0c0d0e0f10",
 "processes": {"p1": {"serviceName": "front"}, "p2": {"serviceName": "cart"}},
 "spans": [
 {"spanID": "a", "operationName": "GET /", "processID": "p1", "startTime": 1700000000000000,
  "duration": 100000, "references": [], "tags": [{"key": "span.kind", "value": "server"}]},
 {"spanID": "b", "operationName": "POST", "processID": "p1", "startTime": 1700000000010000,
  "duration": 60000, "references": [{"refType": "CHILD_OF", "spanID": "a"}],
  "tags": [{"key": "span.kind", "value": "client"}]},
 {"spanID": "c", "operationName": "cart/add", "processID": "p2",
  "startTime": 1700000000020000, "duration": 40000,
  "references": [{"refType": "CHILD_OF", "spanID": "b"}],
  "tags": [{"key": "span.kind", "value": "server"}]},
 {"spanID": "d", "operationName": "SELECT", "processID": "p1",
  "startTime": 1700000000075000, "duration": 30000,
  "references": [{"refType": "CHILD_OF", "spanID": "a"}],
  "tags": [{"key": "span.kind", "value": "client"}, {"key": "db.system", "value": "pg"}]}
 ]}]}
END
cpt import --sections spans.json || exit
cat >overlap.json <<'END'
[[{"traceId": "t", "id": "a", "timestamp": 0, "duration": 1000},
  {"traceId": "t", "id": "b", "parentId": "a", "timestamp": 10, "duration": 200},
  {"traceId": "t", "id": "c", "parentId": "a", "timestamp": 209, "duration": 100}]]
END
for mode in exact jaeger-ui crisp; do
    cpt import --sections --mode=$mode overlap.json || exit
done
