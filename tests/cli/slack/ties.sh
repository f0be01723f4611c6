# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# calls that end in one moment, and what begins then: the graph of spans has the walk's
# path, whatever the ids are. A call that takes no time hides none that ended just then
trace() { # trace SPAN,SERVICE,START,END...: a request of 1 ms and its calls, in µs
    printf '{"data": [{"traceID": "1", "processes": {'
    for call in "$@"; do
        printf '"%s": {"serviceName": "%s"}, ' "$(echo "$call" | cut -d, -f2)" "$(echo "$call" | cut -d, -f2)"
    done
    printf '"A": {"serviceName": "A"}}, "spans": [{"traceID": "1", "spanID": "1", "operationName": "/", '
    printf '"processID": "A", "startTime": 1000, "duration": 1000}'
    for call in "$@"; do
        echo "$call" | {
            IFS=, read -r span service start end
            printf ', {"traceID": "1", "spanID": "%s", "operationName": "get", "processID": "%s", ' "$span" "$service"
            printf '"startTime": %d, "duration": %d, ' $((1000 + start)) $((end - start))
            printf '"references": [{"refType": "CHILD_OF", "spanID": "1"}]}'
        }
    done
    printf ']}]}\n'
}
both() {
    trace "$@" >spans.json
    echo "== $*"
    cpt slack --columns name,path_ns,gain_ns spans.json
}
both 3,X,100,600 2,Z,600,600
both 2,X,100,600 3,Z,600,600
both 3,X,100,600 2,Z,600,600 4,Y,600,900
both 2,X,100,600 3,Y,300,600
both 3,X,100,600 2,Y,300,600
echo "== an overlap just behind the start is cut, too, and a call that is cut counts once"
both 2,X,1,5 3,Y,4,9
both 2,X,100,1200
echo "== a call that is not waited for cuts nothing: Y does, by 3 us"
both 2,X,100,505 3,BG,500,2000 4,Y,503,900
echo "== a trace that took no time is left out, and counted"
{ sed 's/"traceID": "1"/"traceID": "2"/g; s/"duration": [0-9]*/"duration": 0/g' spans.json; trace 2,X,100,600; } >spans.jsonl
cpt slack --columns name,path_ns spans.jsonl 2>&1 | head -3
echo "== a change is known as the requests are"
trace 2,X,100,600 >spans.json
cpt whatif --set 'X: get=0' -o new.cptlog spans.json >/dev/null
cpt report --evidence inferred new.cptlog | head -1
cpt report --evidence recorded new.cptlog; echo "exit $?"
echo "== what is left out is said, as by 'cpt import'"
trace 2,X,100,600 3,Y,700,800 | sed 's/\(.*\)"spanID": "1"}\]/\1"spanID": "9"}]/' >orphan.json
cpt slack --columns name,path_ns orphan.json 2>&1
