# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# processes that name no host: each resource is a clock of its own
python3 - <<'PY'
import json

MS = 10 ** 6
START = 1_700_000_000_000 * MS


def value(given):
    if isinstance(given, bool):
        return {"boolValue": given}
    return {"intValue": str(given)} if isinstance(given, int) else {"stringValue": given}


def resource(attributes, *spans):
    return {"resource": {"attributes": [{"key": key, "value": value(given)}
                                        for key, given in attributes]},
            "scopeSpans": [{"spans": list(spans)}]}


def span(trace, name, parent, kind, begin, end):
    one = {"traceId": trace, "spanId": name, "name": "find", "kind": kind,
           "startTimeUnixNano": str(START + begin * MS),
           "endTimeUnixNano": str(START + end * MS)}
    return dict(one, parentSpanId=parent) if parent else one


def write(file, *resources):
    with open(file, "w") as out:
        json.dump({"resourceSpans": list(resources)}, out)


FRONT = [("service.name", "front"), ("telemetry.sdk.language", "webjs")]
STORE = [("service.name", "store"), ("telemetry.sdk.language", "go")]
# two resources, as the SDKs of browsers and of Go describe themselves
write("sdk.json", resource(FRONT, span("1a", "a1", "", 3, 0, 100)),
      resource(STORE, span("1a", "b1", "a1", 2, 2020, 2070), span("1a", "c1", "b1", 1, 2030, 2050)))
# the order of the attributes says nothing; one process sends in two requests
write("order.json", resource(FRONT, span("1b", "a1", "", 3, 0, 100)),
      resource(STORE, span("1b", "b1", "a1", 2, 2020, 2070)),
      resource(STORE[::-1], span("1b", "c1", "b1", 1, 2030, 2050)))
# a browser, before a service that names its host
write("mixed.json", resource(FRONT, span("1c", "a1", "", 3, 0, 100)),
      resource(STORE + [("host.name", "two")], span("1c", "b1", "a1", 2, -2020, -1970)))
# instances of one service, told apart by any attribute
write("pids.json", resource(FRONT, span("1d", "a1", "", 2, 0, 100),
                            span("1d", "b1", "a1", 3, 10, 30), span("1d", "c1", "a1", 3, 40, 60)),
      resource(STORE + [("process.pid", 7)], span("1d", "b2", "b1", 2, 5015, 5025)),
      resource(STORE + [("process.pid", 8)], span("1d", "c2", "c1", 2, -4955, -4945)))
# instances that nothing tells apart: their calls contradict each other, so each call is
# taken for a clock of its own
write("same.json", resource(FRONT, span("1e", "a1", "", 2, 0, 100),
                            span("1e", "b1", "a1", 3, 10, 30), span("1e", "c1", "a1", 3, 40, 60)),
      resource(STORE, span("1e", "b2", "b1", 2, 5015, 5025), span("1e", "d1", "b2", 1, 5016, 5018),
               span("1e", "c2", "c1", 2, -4955, -4945)))
# two services number their instances alike
write("alike.json", resource(FRONT + [("service.instance.id", "1")], span("24", "a1", "", 3, 0, 100)),
      resource(STORE + [("service.instance.id", "1")], span("24", "b1", "a1", 2, 2020, 2070)))
# one of them calls another
write("own.json", resource(STORE, span("1f", "a1", "", 2, 0, 100), span("1f", "b1", "a1", 3, 10, 50),
                           span("1f", "b2", "b1", 2, 5020, 5040)))
# a call of itself that it did not wait for to the end moves nothing
write("late.json", resource(STORE, span("20", "a1", "", 2, 0, 100), span("20", "b1", "a1", 3, 10, 50),
                            span("20", "b2", "b1", 2, 30, 60)))
# spans without a resource are of one clock that has no name
write("bare.json", resource(FRONT, span("21", "a1", "", 3, 0, 100)),
      {"scopeSpans": [{"spans": [span("21", "b1", "a1", 2, 2020, 2070)]}]})

with open("jaeger.json", "w") as out:
    json.dump({"data": [{"traceID": "22", "processes": {
        "p1": {"serviceName": "front", "tags": [{"key": "pid", "type": "int64", "value": 1}]},
        "p2": {"serviceName": "front", "tags": [{"key": "pid", "type": "int64", "value": 2}]}},
        "spans": [
            {"spanID": "a1", "operationName": "find", "processID": "p1", "startTime": 1700000000000000,
             "duration": 100000, "tags": [{"key": "span.kind", "value": "client"}]},
            {"spanID": "b1", "operationName": "find", "processID": "p2", "startTime": 1699999999000000,
             "duration": 50000, "tags": [{"key": "span.kind", "value": "server"}],
             "references": [{"refType": "CHILD_OF", "spanID": "a1"}]}]}]}, out)
with open("zipkin.json", "w") as out:
    json.dump([[{"traceId": "23", "id": "a1", "kind": "CLIENT", "name": "find",
                 "timestamp": 1700000000000000, "duration": 100000,
                 "localEndpoint": {"serviceName": "page"}},
                {"traceId": "23", "id": "a1", "kind": "SERVER", "name": "find", "shared": True,
                 "timestamp": 1700000002020000, "duration": 50000,
                 "localEndpoint": {"serviceName": "store", "port": 80}}]], out)
PY
for file in sdk order mixed pids alike same own late bare jaeger zipkin; do
    echo "$file:"
    cpt import --sections $file.json 2>$file.err | python3 -c '
import json, sys
for line in sys.stdin:
    trace = json.loads(line)
    print(" ", ", ".join("%s %g-%g" % (one["span_id"], one["start_us"] / 1000 - 1.7e12, one["end_us"] / 1000 - 1.7e12)
                         for one in trace["sections"]))
    print("  dropped %d, clipped %d, clocks %s" % (trace["dropped"], trace["clipped"], json.dumps(trace.get("clocks"))))'
    sed 's/^/  /' $file.err
done
cpt explain 1a c1 sdk.json | grep clock
cpt explain 1e d1 same.json | grep clock
