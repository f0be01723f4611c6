# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# traces as one trace of Perfetto: each has tracks and arrows of its own
trace() { # ID START_US
    cat <<END
{"traceID": "$1", "processes": {"p": {"serviceName": "A"}, "q": {"serviceName": "B"}},
 "spans": [
 {"traceID": "$1", "spanID": "1", "operationName": "/", "references": [],
  "startTime": $2, "duration": 100, "processID": "p", "tags": []},
 {"traceID": "$1", "spanID": "2", "operationName": "get", "processID": "q", "tags": [],
  "references": [{"refType": "CHILD_OF", "traceID": "$1", "spanID": "1"}],
  "startTime": $(($2 + 20)), "duration": 50}]}
END
}
printf '{"data": [%s, %s]}' "$(trace a 1000)" "$(trace b 1200)" >two.json
cpt import two.json -o two.pftrace || exit
tests=$(cd "$(dirname "$0")/.." && pwd)
python3 "$tests/perfetto_text.py" two.pftrace
echo '{"data": []}' | cpt import - -o none.pftrace; echo "exit $?"
[ ! -e none.pftrace ] || echo "a file without a path"
