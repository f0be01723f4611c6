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
cpt report --json told.cpttree | grep -o '"where":[^]]*.'
cpt report --evidence some few.cptlog; echo "exit $?"
echo "what an answer rests on:"
make_log evidence >mixed.cptlog
cpt report mixed.cptlog | sed -n 2,3p
cpt report --include-forced --sample 8 mixed.cptlog 2>/dev/null | sed -n 3p
cpt report --evidence told mixed.cptlog | sed -n 2,3p
cpt report --evidence recorded mixed.cptlog | sed -n 2,3p
cpt diff --base cpt.evidence=told --new cpt.evidence=learnt mixed.cptlog | grep evidence
cpt aggregate mixed.cptlog -o mixed.cpttree
cpt aggregate mixed.cpttree few.cptlog -o both.cpttree
cpt report both.cpttree | sed -n 2,3p
cpt report --json both.cpttree | grep -o '"evidence":.*,"inferred":[0-9]*'
cpt report --json few.cptlog | grep -c '"evidence"'
