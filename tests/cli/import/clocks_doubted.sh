# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# spans that contradict the clocks by which others are right are not believed, and named
python3 - <<'END' || exit
import json

FRONT, STORE = ({"service": "front", "host": "h1"}, {"service": "store", "host": "h2"})


class Trace:
    """Spans of Jaeger, with times in milliseconds."""

    def __init__(self, name):
        self.spans, self.name = [], name

    def add(self, ident, parent, process, start, ms, kind, reference="CHILD_OF"):
        self.spans.append({
            "spanID": ident, "operationName": "get", "processID": process,
            "startTime": 1700000000000000 + round(start * 1000), "duration": round(ms * 1000),
            "tags": [{"key": "span.kind", "value": kind}],
            "references": [{"refType": reference, "spanID": parent}] if parent else []})

    def call(self, number, start, by=0):
        self.add("c%d" % number, "1", "p1", start, 15, "client")
        self.add("d%d" % number, "c%d" % number, "p2", start + 1 + by, 13, "server")

    def text(self):
        processes = {
            name: {"serviceName": who["service"], "tags": [{"key": "hostname", "value": who["host"]}]}
            for name, who in (("p1", FRONT), ("p2", STORE))}
        return {"traceID": self.name, "processes": processes, "spans": self.spans}


def write(name, *traces):
    with open(name, "w", encoding="utf-8") as file:
        json.dump({"data": [trace.text() for trace in traces]}, file)


leak, follows, few, step, leaks = (Trace(name) for name in ("a1", "a2", "a3", "a4", "a5"))
for trace in (leak, follows, few, step, leaks):
    trace.add("1", None, "p1", 0, 200, "server")
    for number in range(3):
        trace.call(number, 20 * number + 20, -40 if trace is few and number == 2 else 0)
# a parent of long ago, which leaked into a later task
leak.add("e0", "c2", "p2", -500, 300, "internal")
# two of them, which are named in the order of their ids
leaks.add("e1", "c2", "p2", -500, 300, "internal")
leaks.add("e0", "c2", "p2", -600, 200, "internal")
# nothing waits for what follows: it bounds no clock
follows.add("e0", "c2", "p2", -500, 300, "internal", "FOLLOWS_FROM")
# the clock of h2 is set back by 40 ms between the third call and the fourth
for number in range(3, 6):
    step.call(number, 20 * number + 20, -40)
write("traces.json", leak, follows, few, step, leaks)
END
cpt import --sections traces.json >sections.json || exit
sed 's/"root_start_us".*"dropped"/… "dropped"/' sections.json
cpt explain a1 e0 traces.json || exit
cpt explain --json a3 d2 traces.json | grep -o '"why.*'
# the same lines and messages for the same spans in another order, of two hosts
python3 - <<'END' || exit
import json


def span(ident, parent, process, start, ms, kind):
    return {"spanID": ident, "operationName": "get", "processID": process,
            "startTime": 1700000000000000 + start * 1000, "duration": ms * 1000,
            "tags": [{"key": "span.kind", "value": kind}],
            "references": [{"refType": "CHILD_OF", "spanID": parent}] if parent else []}


spans = [span("1", None, "p1", 0, 200, "server")]
for number in range(6):
    called = "p2" if number < 3 else "p3"
    spans += [span("c%d" % number, "1", "p1", 20 * number + 20, 15, "client"),
              span("d%d" % number, "c%d" % number, called, 20 * number + 21, 13, "server")]
spans += [span("e1", "d2", "p1", -500, 300, "internal"), span("e2", "c2", "p2", -500, 300, "internal"),
          span("e3", "c4", "p3", -500, 300, "internal")]
processes = {"p%d" % i: {"serviceName": "s%d" % i, "tags": [{"key": "hostname", "value": "h%d" % i}]}
             for i in (1, 2, 3)}
for name, these in (("there", spans), ("back", spans[::-1])):
    with open(name, "w", encoding="utf-8") as file:
        json.dump({"data": [{"traceID": "b1", "processes": processes, "spans": these}]}, file)
END
for file in there back; do
    cpt import --sections $file >$file.lines 2>$file.messages
done
cmp there.lines back.lines && cmp there.messages back.messages && grep -c 'not believed' back.messages
