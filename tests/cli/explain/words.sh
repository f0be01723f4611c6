# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# why spans are on the critical path, or are not
cat >spans.json <<'END'
[[{"traceId": "7a", "id": "a1", "name": "GET /", "timestamp": 1700000000000000, "duration": 100000,
   "localEndpoint": {"serviceName": "front"}},
  {"traceId": "7a", "id": "b1", "parentId": "a1", "name": "get", "timestamp": 1700000000010000,
   "duration": 50000, "localEndpoint": {"serviceName": "store"}},
  {"traceId": "7a", "id": "c1", "parentId": "a1", "name": "find", "timestamp": 1700000000050000,
   "duration": 51000, "localEndpoint": {"serviceName": "store"}},
  {"traceId": "7a", "id": "d1", "parentId": "b1", "name": "scan", "timestamp": 1700000000020000,
   "duration": 10000, "localEndpoint": {"serviceName": "disk"}},
  {"traceId": "7a", "id": "e1", "parentId": "a1", "name": "log", "timestamp": 1700000000200000,
   "duration": 10000, "localEndpoint": {"serviceName": "log\u0007"}},
  {"traceId": "7a", "id": "f1", "parentId": "a1", "name": "audit", "timestamp": 1700000000012000,
   "duration": 5000000, "localEndpoint": {"serviceName": "front"}}],
 [{"traceId": "7b", "id": "a1", "name": "other", "timestamp": 1, "duration": 1}]]
END
for span in a1 b1 c1 d1 e1 f1; do
    cpt explain 7a $span spans.json; echo "exit $?"
    cpt explain --json 7A $span - <spans.json
done
cpt explain 7a zz spans.json; echo "exit $?"
cpt explain 7c a1 spans.json; echo "exit $?"
cpt explain 7a a1 none.json; echo "exit $?"
cpt explain 7a a1; echo "exit $?"
