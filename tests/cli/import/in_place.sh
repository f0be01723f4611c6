# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# spans, and folders of them, in the place of a path log; nothing is left behind
mkdir tmp spans none
TMPDIR=$PWD/tmp
export TMPDIR
cat >spans/1.json <<'END'
{"data": [{"traceID": "0102030405060708090a0b0c0d0e0f10",
 "processes": {"p1": {"serviceName": "front"}, "p2": {"serviceName": "cart"}},
 "spans": [
 {"spanID": "a", "operationName": "read", "processID": "p1", "startTime": 1700000000000000,
  "duration": 100000, "references": [], "tags": [{"key": "span.kind", "value": "server"}]},
 {"spanID": "c", "operationName": "cart/add", "processID": "p2",
  "startTime": 1700000000020000, "duration": 40000,
  "references": [{"refType": "CHILD_OF", "spanID": "a"}],
  "tags": [{"key": "span.kind", "value": "server"}]}]}]}
END
sed 's/0102/0202/; s/1700000000/1700000001/' spans/1.json | gzip >spans/2.json.gz
echo "no spans" >spans/readme
cpt report spans/1.json; echo "exit $?"
cpt folded spans; echo "exit $?"
cpt log spans/2.json.gz; echo "exit $?"
cpt import -o new.cptlog spans 2>/dev/null
cpt diff spans/1.json spans/2.json.gz 2>/dev/null | head -6
cpt culprit spans/1.json spans/2.json.gz 2>/dev/null | head -2
echo '{"data": [' >none/bad.json
cpt report none; echo "exit $?"
cp new.cptlog spans/new.cptlog # with a log, it is a folder of logs
cpt folded spans; echo "exit $?"
ls -A tmp
