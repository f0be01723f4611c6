# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# spans that cannot be kept, to learn from them: an error, and no answer of some of them
for i in $(seq 100); do
    printf '{"data":[{"traceID":"%032x","processes":{"f":{"serviceName":"front"},"c":{"serviceName":"cart"}},"spans":[' "$i"
    printf '{"traceID":"%032x","spanID":"1","operationName":"/","processID":"f","startTime":%d,"duration":900},' \
        "$i" "${i}000000"
    printf '{"traceID":"%032x","spanID":"2","operationName":"get","processID":"c","startTime":%d,"duration":400,' \
        "$i" "${i}000100"
    printf '"references":[{"refType":"CHILD_OF","spanID":"1"}]}]}]}\n'
done >spans.json
(
    ulimit -f 16
    for command in whatif slack busy; do
        cpt "$command" spans.json spans.json
        echo "exit $?"
        cpt "$command" --json - <spans.json
        echo "exit $?"
    done
    echo '== the walk needs no file'
    cpt whatif --waits walk spans.json | head -1
)
TMPDIR=none cpt whatif spans.json
echo "exit $?"
