# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# attributes that are asked for: of the root, of its process, of the callee of a client's
# root; in each format; what can be none
python3 - <<'PY'
import json
import struct

T = 1_700_000_000_000_000  # microseconds
SPAN = [("tenant", "t1"), ("count", -5), ("load", 0.5), ("big", True), ("tenant", "t2"),
        ("long", "x" * 1025), ("list", [1, 2]), ("edge", "y" * 1024)]
PROCESS = [("region", "eu"), ("tenant", "of the process"), ("service.name", "A")]
TYPES = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}


def any_of(given):
    if isinstance(given, list):
        return {"arrayValue": {"values": [any_of(one) for one in given]}}
    return {TYPES[type(given)]: str(given) if type(given) is int else given}


def write(name, given):
    with open(name, "w", encoding="utf-8") as file:
        json.dump(given, file)


def jaeger(process_first):
    pair = [("tags", [{"key": k, "value": v} for k, v in SPAN]), ("processID", "p")]
    span = dict(pair[::-1] if process_first else pair, traceID="1", spanID="a",
                operationName="/", startTime=T, duration=1000)
    return {"data": [{"traceID": "1", "spans": [span], "processes": {"p": {
        "serviceName": "A", "tags": [{"key": k, "value": v} for k, v in PROCESS]}}}]}


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(data)) + data


def value(given):
    if isinstance(given, list):
        return field(5, b"".join(field(1, value(one)) for one in given))
    if isinstance(given, str):
        return field(1, given)
    if isinstance(given, bool):
        return varint(2 << 3) + varint(given)
    if isinstance(given, int):
        return varint(3 << 3) + varint(given)
    return varint(4 << 3 | 1) + struct.pack("<d", given)


def attributes(number, given):
    return b"".join(field(number, field(1, k) + field(2, value(v))) for k, v in given)


write("jaeger.json", jaeger(False))
write("process_first.json", jaeger(True))
write("elasticsearch.json", {"_source": {
    "traceID": "1", "spanID": "a", "operationName": "/", "startTime": T,
    "duration": 1000, "tag": {k.replace(".", "@"): v for k, v in SPAN},
    "process": {"serviceName": "A", "tag": dict(PROCESS)}}})
write("zipkin.json", [{"traceId": "1", "id": "a", "name": "/", "timestamp": T,
                       "duration": 1000, "localEndpoint": {"serviceName": "A"},
                       "tags": {k: str(v) for k, v in SPAN}}])
write("otlp.json", {"resourceSpans": [{
    "resource": {"attributes": [{"key": k, "value": any_of(v)} for k, v in PROCESS]},
    "scopeSpans": [{"spans": [{
        "traceId": "1" * 32, "spanId": "a" * 16, "name": "/",
        "startTimeUnixNano": str(T * 1000), "endTimeUnixNano": str(T * 1000 + 1000000),
        "attributes": [{"key": k, "value": any_of(v)} for k, v in SPAN]}]}]}]})
request = field(1, field(1, attributes(1, PROCESS)) + field(2, field(2, b"".join([
    field(1, b"\x11" * 16), field(2, b"\xaa" * 8), field(5, "/"),
    varint(7 << 3 | 1) + struct.pack("<Q", T * 1000),
    varint(8 << 3 | 1) + struct.pack("<Q", T * 1000 + 1000000),
    attributes(9, SPAN)]))))
with open("otlp.bin", "wb") as file:
    file.write(struct.pack(">I", len(request)) + request)

# the tenant is that of the callee's span, the region that of the root; two spans in two
# files; one trace without
def one(trace, name, parent, kind, start, end, tags):
    return {"traceId": trace * 32, "spanId": name * 16, "parentSpanId": parent * 16,
            "name": "/", "kind": kind, "startTimeUnixNano": str(T * 1000 + start),
            "endTimeUnixNano": str(T * 1000 + end),
            "attributes": [{"key": k, "value": any_of(v)} for k, v in tags]}


def resource(service, *spans):
    return {"resourceSpans": [{"resource": {"attributes": [
        {"key": "service.name", "value": {"stringValue": service}}]},
        "scopeSpans": [{"spans": list(spans)}]}]}


write("client.json", resource("load", one("2", "a", "", 3, 0, 1000, [("region", "root")]),
                              one("3", "b", "", 2, 0, 2000, [])))
write("server.json", resource("front", one("2", "c", "a", 2, 100, 900, [
    ("region", "callee"), ("tenant", "t3")])))
PY
keys='--attribute tenant --attribute region --attribute count --attribute load --attribute big'
more='--attribute long --attribute list --attribute none --attribute tenant --attribute edge'
for file in jaeger.json process_first.json elasticsearch.json zipkin.json otlp.json otlp.bin; do
    echo "$file"
    cpt import $keys $more -o log.cptlog "$file" 2>/dev/null
    cpt log --json log.cptlog | sed 's/y\{1024\}/1024 y/' | grep -o '"meta":{[^}]*}'
done
echo 'nothing is asked for'
cpt import -o log.cptlog jaeger.json 2>/dev/null
cpt log --json log.cptlog | grep -o '"meta":{[^}]*}'
echo 'in two files'
cpt import $keys -o log.cptlog client.json server.json 2>/dev/null
cpt log --json log.cptlog | grep -o '"service":"[a-z]*"\|"meta":{[^}]*}'
echo 'by other commands'
mkdir both && mv client.json server.json both
cpt report --attribute region --where region=root both 2>/dev/null | head -1
echo 'refused'
for key in cpt.visits ''; do
    cpt import --attribute "$key" -o log.cptlog jaeger.json
    echo "$?"
done 2>&1
cpt report --attribute cpt.fragment both 2>&1
cpt import $(seq -f '--attribute k%g' 17) -o log.cptlog jaeger.json 2>&1
cpt import $(seq -f '--attribute k%g' 16) --attribute k3 -o log.cptlog jaeger.json 2>&1
