# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# more victims and culprits than there are rows: those without a row accuse no one
# request SHORT LONG: a chain of tasks, each with a name and a culprit of its own
request() {
    echo "$1 $2" | awk '
    function span(id, parent, note) {
        printf "%s{\"traceId\":\"%032d\",\"spanId\":\"%016d\",\"parentSpanId\":\"%s\",", (id > 1 ? ",\n" : ""), 1, id, parent
        printf "\"startTimeUnixNano\":\"0\",\"endTimeUnixNano\":\"9\",\"attributes\":[{\"key\":\"critical_path.note\","
        printf "\"value\":{\"stringValue\":\"%s\"}}]}", note
    }
    {
        root = sprintf("%016d", 1)
        printf "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["
        span(1, "", sprintf("request entry=A latency=%d by=%016d", 10 * $1 + 1000000 * $2, $1 + $2 + 1))
        for (i = 1; i <= $1 + $2; i++) {
            ns = i <= $1 ? 10 : 1000000
            span(i + 1, root, sprintf("task name=t%d ready=%d start=%d end=%d executor=E occupant=h%d%s", i, at, at + ns - 1,
                at + ns, i, (i > 1 ? sprintf(" after=%016d", i) : "")))
            at += ns
        }
        print "]}]}]}"
    }'
}
request 3 2 >few.json
cpt contention few.json 2>&1 | head -8
request 65600 3 >many.json
cpt contention many.json 2>&1 | head -8
cpt contention --json many.json 2>/dev/null | grep '"other"'
