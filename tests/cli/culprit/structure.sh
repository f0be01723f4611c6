# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what changed in structure: from files of spans, and from logs with all visits; not
# from paths alone, nor if requests were not kept alike
requests() # COUNT HOW: A calls B, which calls C and D, and fails or not
{
    awk -v count="$1" -v how="$2" '
    function span(id, parent, name, service, start, end, tags, side) {
        printf "%s{\"traceID\":\"%x\",\"spanID\":\"%s\",\"operationName\":\"%s\",\"references\":[", (id == "a" ? "" : ","), trace, id, name
        if (parent != "") {
            printf "{\"refType\":\"CHILD_OF\",\"traceID\":\"%x\",\"spanID\":\"%s\"}", trace, parent
        }
        printf "],\"startTime\":%.0f,\"duration\":%d,\"processID\":\"%s\",\"tags\":[{\"key\":\"span.kind\",\"type\":\"string\",\"value\":\"%s\"}%s]}", 1700000000000000 + trace * 1000 + start, end - start, service, side == "" ? "server" : side, tags
    }
    BEGIN {
        error = ",{\"key\":\"error\",\"type\":\"bool\",\"value\":true}"
        kept = ",{\"key\":\"w3c.tracestate\",\"type\":\"string\",\"value\":\"ot=th:8\"}"
        printf "{\"data\":["
        for (trace = 1; trace <= count; trace++) {
            printf "%s{\"traceID\":\"%x\",\"spans\":[", (trace > 1 ? "," : ""), trace
            span("a", "", "/", "A", 0, 900, how == "kept" && trace % 2 ? kept : "")
            span("b", "a", "get", "B", 100, 800, how == "fails" && trace % 4 != 0 ? error : "")
            span("e", "b", "find", "B", 190, 410, "", "client")
            span("c", "e", "find", "C", 200, 400, "")
            if (how != "drops") {
                span("f", "b", "look", "B", how == "beside" ? 190 : 440, 610, "", "client")
                span("d", "f", "look", "D", how == "beside" ? 200 : 450, 600, "")
            }
            printf "],\"processes\":{\"A\":{\"serviceName\":\"A\"},\"B\":{\"serviceName\":\"B\"},\"C\":{\"serviceName\":\"C\"},\"D\":{\"serviceName\":\"D\"}}}"
        }
        print "]}"
    }'
}
requests 60 usual >usual.json
cpt import --visits usual.json -o usual.cptlog 2>/dev/null
for how in drops beside fails; do
    echo "$how"
    requests 19 $how >$how.json
    cpt culprit usual.json $how.json 2>/dev/null >of_spans
    sed -n '/structure/,$p' of_spans
    cpt import --visits $how.json -o $how.cptlog 2>/dev/null
    cpt culprit usual.cptlog $how.cptlog | cmp - of_spans
done
echo 'the other way round'
cpt culprit beside.cptlog usual.cptlog | sed -n '/structure/,$p'
cpt culprit drops.cptlog usual.cptlog | sed -n '/structure/,$p'
echo 'no change, paths alone, not kept alike'
structure()
{
    cpt culprit --json "$1" "$2" 2>/dev/null | grep -o '"structure": *[^{]*' | head -1
}
structure usual.cptlog usual.cptlog
for how in usual drops; do
    cpt import $how.json -o $how.paths 2>/dev/null
done
structure usual.paths drops.paths
requests 60 kept >kept.json
structure kept.json drops.json
cpt culprit --json usual.cptlog drops.cptlog | sed -n '/structure/,$p'
sed 's|"operationName":"/"|"operationName":"/v2"|g' drops.json >renamed.json
structure usual.json renamed.json
echo 'visits that are damaged, or missing, are told'
cpt culprit --json usual.json renamed.json 2>&1 >none | grep structure
make_log visits >visits.cptlog
make_log some_visits >some.cptlog
for logs in 'visits.cptlog usual.cptlog' '--stop-at-error visits.cptlog usual.cptlog' 'some.cptlog usual.cptlog'; do
    cpt culprit --json $logs 2>&1 >answer
    echo "$?"
    grep -o '"base":{[^}]*' answer
done
command -v python3 >/dev/null || exit 0
tests=$(cd "$(dirname "$0")/.." && pwd)
for how in drops beside fails; do
    for bytes in 400 900 9000; do
        cpt culprit --json --max-bytes $bytes usual.cptlog $how.cptlog |
            python3 "$tests/json_schema.py" --complete "$tests/../../docs/schemas/culprit.json" |
            grep -v ' 1 as it says'
    done
done
exit 0
