# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# with --json a command that prints no document prints its error as one
make_log few >few.cptlog
try() { "$@" 2>/dev/null; echo "exit $?"; }
try cpt report --json missing.cptlog
try cpt report --json --where 'latency >' few.cptlog
try cpt report --jsn --json few.cptlog
try cpt slack -j few.cptlog
try cpt diff --format json few.cptlog
try cpt report --json --where 'arm=none' few.cptlog
cat >spans.json <<'EOF'
{"data": [{"traceID": "1", "processes": {"f": {"serviceName": "front"}}, "spans": [
 {"traceID": "1", "spanID": "1", "operationName": "/", "processID": "f", "startTime": 1000, "duration": 1000}]}]}
EOF
echo '{"no": "spans"}' >bad.json
# beside a document it stays on standard error
cpt slack --json spans.json bad.json 2>said | head -c 12; echo
cat said
# an answer that does not fit is none
try cpt report --json --max-bytes 10 few.cptlog
# -j of aggregate is another option
try cpt aggregate -j 1 missing.cptlog -o out
for file in missing; do
    cpt report --json $file 2>/dev/null >error.json
    if command -v python3 >/dev/null; then
        tests=$(cd "$(dirname "$0")/.." && pwd)
        python3 "$tests/json_schema.py" "$tests/../../docs/schemas/error.json" <error.json |
            grep -v "as it says" || true
    fi
done
