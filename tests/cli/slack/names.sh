# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# requests of a file that names tens of thousands of frames: each counts whole, or not at all
# requests FIRST-NAME TASKS IS-CHAIN..., a trace for each three of them
requests() {
    printf '%s %s %s\n' "$@" | awk '
    function span(id, parent, note) {
        printf "%s{\"traceId\":\"%032d\",\"spanId\":\"%016d\",\"parentSpanId\":\"%s\",", (id > 1 ? ",\n" : ""), NR, id, parent
        printf "\"startTimeUnixNano\":\"0\",\"endTimeUnixNano\":\"9\",\"attributes\":[{\"key\":\"critical_path.note\","
        printf "\"value\":{\"stringValue\":\"%s\"}}]}", note
    }
    {
        root = sprintf("%016d", 1)
        printf "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
        span(1, "", sprintf("request entry=A latency=%d by=%016d", 1000 * $2, $2 + 1))
        for (i = 1; i < $2; i++)
            if ($3)
                span(i + 1, root, sprintf("task name=t%d ready=%d start=%d end=%d%s", $1 + i, 1000 * (i - 1), 1000 * (i - 1),
                    1000 * i, (i > 1 ? sprintf(" after=%016d", i) : "")))
            else
                span(i + 1, root, sprintf("task name=t%d start=0 end=10", $1 + i))
        if ($3)
            span(i + 1, root, sprintf("task name=last ready=%d start=%d end=%d after=%016d", 1000 * (i - 1), 1000 * (i - 1),
                1000 * $2, i))
        else
            span(i + 1, root, sprintf("task name=last start=0 end=%d", 1000 * $2))
        print "]}]}]}"
    }'
}
# the second has more names than there are rows; the third has those of the first
requests 0 40000 0 40000 30000 0 0 3 0 >rows.json
cpt slack rows.json 2>messages.txt | sed -n '1,3p'
cat messages.txt
# each frame on the path takes a walk of the whole
requests 0 50000 1 0 3 1 >long.json
cpt slack long.json 2>messages.txt | sed -n '1,3p'
cat messages.txt
# so it is with what tasks waited for
{
    requests 0 3 0 | tr '\n' ' ' | sed 's/name=t2 start=0 end=10".*/name=t2 start=0 end=10 inputs=/'
    yes 2, | tr -d '\n' | head -c 8400000
    requests 0 3 0 | tr '\n' ' ' | sed 's/.*name=t2 start=0 end=10"/"/'
} >inputs.json
cpt slack inputs.json 2>&1; echo "exit $?"
# of many bad pieces the first ones are told
for _ in 1 2 3 4 5 6 7 8; do
    echo '{"no": "spans"}'
done >bad.json
cpt slack bad.json 2>&1; echo "exit $?"
