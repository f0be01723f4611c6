# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# how it is known who waited: recorded by our runtime, inferred from spans
make_log few >few.cptlog
cat >spans.json <<'EOF'
{"data": [{"traceID": "1", "processes": {"f": {"serviceName": "front"}}, "spans": [
 {"traceID": "1", "spanID": "1", "operationName": "/", "processID": "f", "startTime": 1000, "duration": 1000}]}]}
EOF
count() { cpt "$@" 2>&1 | head -1; }
echo "a log of our runtime:"
count report --evidence recorded few.cptlog
count report --evidence inferred few.cptlog
echo "spans:"
cpt report --evidence inferred spans.json 2>/dev/null | head -1
cpt report --evidence told spans.json; echo "exit $?"
count slack --evidence inferred spans.json
cpt slack --evidence told spans.json; echo "exit $?"
echo "as a tree:"
cpt aggregate --evidence told few.cptlog -o told.cpttree && cpt report told.cpttree | head -2
cpt report --evidence some few.cptlog; echo "exit $?"
