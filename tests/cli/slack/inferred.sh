# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# spans without notes: it is inferred who waited, and said. front calls cart by a client's
# span, then two services side by side; the work of its internal span is its own
cat >spans.json <<'EOF'
{"data": [{"traceID": "1", "processes": {"f": {"serviceName": "front"}, "c": {"serviceName": "cart"},
 "s": {"serviceName": "stock"}, "m": {"serviceName": "mail"}}, "spans": [
 {"traceID": "1", "spanID": "1", "operationName": "/", "processID": "f", "startTime": 1000, "duration": 1000,
  "tags": [{"key": "span.kind", "value": "server"}]},
 {"traceID": "1", "spanID": "2", "operationName": "render", "processID": "f", "startTime": 1050, "duration": 900,
  "references": [{"refType": "CHILD_OF", "spanID": "1"}]},
 {"traceID": "1", "spanID": "3", "operationName": "get", "processID": "f", "startTime": 1100, "duration": 300,
  "references": [{"refType": "CHILD_OF", "spanID": "2"}], "tags": [{"key": "span.kind", "value": "client"}]},
 {"traceID": "1", "spanID": "4", "operationName": "get", "processID": "c", "startTime": 1150, "duration": 200,
  "references": [{"refType": "CHILD_OF", "spanID": "3"}], "tags": [{"key": "span.kind", "value": "server"}]},
 {"traceID": "1", "spanID": "5", "operationName": "find", "processID": "s", "startTime": 1396, "duration": 400,
  "references": [{"refType": "CHILD_OF", "spanID": "1"}], "tags": [{"key": "span.kind", "value": "server"}]},
 {"traceID": "1", "spanID": "6", "operationName": "send", "processID": "m", "startTime": 1500, "duration": 200,
  "references": [{"refType": "CHILD_OF", "spanID": "1"}], "tags": [{"key": "span.kind", "value": "server"}]}]}]}
EOF
cpt slack spans.json
cpt busy spans.json
cpt whatif spans.json | head -6
cpt whatif --set 'stock: find=-50%' spans.json | head -6
cpt slack --json spans.json | head -1 | tee slack.json | tr , '\n' | grep -E 'evidence|inferred|cut'
cpt whatif -o new.cptlog spans.json >/dev/null && cpt log new.cptlog | tail -1 | cut -c1-60
