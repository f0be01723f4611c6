# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what cannot be read costs only itself, and is told
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
import()
{
    cpt import "$@" 2>err; echo "exit $?"
    cat err
}
printf '[{"a" 1}, {"b": 1}, {"traceId": "t", "id": "a", "timestamp": 0, "duration": 5}' >bad.json
import --sections bad.json spans.json
printf '\037\213\010\000bad' >bad.gz
import --sections bad.gz
import --sections none.json
import -o x.cptlog bad.json
cpt log x.cptlog
# a record that is too long for a log leaves the log readable
{
    printf '[[{"traceId": "'
    head -c 68000000 /dev/zero | tr '\0' a
    printf '", "id": "a", "name": "long", "timestamp": 0, "duration": 5}],\n'
    printf '[{"traceId": "b", "id": "a", "timestamp": 1, "duration": 5, "name": "'
    head -c 300 /dev/zero | tr '\0' b
    printf '"}]]'
} >long.json
import -o x.cptlog long.json
cpt log --json x.cptlog | grep -o '"method":"b*~'
# a file that cannot be read at all does not replace an older log
import -o x.cptlog none.json
cpt log x.cptlog | sed 's/  *$//' | grep -c unknown
