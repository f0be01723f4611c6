# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""collect_alike.py make SEED COUNT JSON PROTOBUF - writes COUNT traces of spans with which
                                                anything may be wrong, to two files
collect_alike.py send SEED COUNT PORT       - sends the same to cpt collect, in any order,
                                              in requests of any size and encoding"""
import gzip
import http.client
import json
import os
import random
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from protobuf import field, varint  # noqa: E402

MS = 10**6
HOSTS = ["host.name", "host.id", "service.instance.id"]


class Process:
    """Its resource, and how far its clock is off."""

    def __init__(self, chance, service):
        self.attributes = [("service.name", service), ("telemetry.sdk.language", "go")]
        if chance.random() < 0.3:
            self.attributes.append((chance.choice(HOSTS), "h%d" % chance.randrange(2)))
        if chance.random() < 0.3:
            self.attributes.append(("process.pid", chance.randrange(1, 4)))
        if chance.random() < 0.1:
            self.attributes.append(("process.command_args", ["a", "b"]))
        chance.shuffle(self.attributes)
        if chance.random() < 0.05:
            self.attributes = []
        self.offset = chance.choice([0, 0, chance.randrange(-10**10, 10**10)])


class Span:
    def __init__(self, chance, trace, parent, process, kind, start, end):
        self.trace, self.process, self.kind = trace, process, kind
        self.id = "%016x" % chance.getrandbits(64)
        self.parent = parent.id if parent else ""
        self.start, self.end = start, end
        self.name = chance.choice(["get", "find \"x\"", "größe"])
        self.is_failed = chance.random() < 0.1


def serve(chance, trace, spans, parent, processes, start, end, depth):
    """A server's span from start to end, and what it calls."""
    process = chance.choice(processes)
    server = Span(chance, trace, parent, process, 2, start, end)
    spans.append(server)
    at = start
    for _ in range(chance.randrange(3 if depth else 1)):
        room = (end - at) // 2
        if room < 100:
            return
        begin = at + chance.randrange(room)
        at = begin + chance.randrange(50, room + 50)
        client = Span(chance, trace, server, process, chance.choice([3, 3, 3, 1, 4]), begin, at)
        spans.append(client)
        inner = (at - begin) // 8
        if client.kind == 4:  # a message, which nothing waits for
            spans.append(Span(chance, trace, client, process, 5, begin + 3, at + 3))
        elif depth:
            serve(chance, trace, spans, client, processes, begin + inner, at - inner, depth - 1)


def spoil(chance, spans):
    """One thing that is wrong."""
    span = chance.choice(spans)
    other = chance.choice(spans)
    way = chance.randrange(10)
    if way == 0:
        span.end = None
    elif way == 1:
        span.end = span.start - 1
    elif way == 2:
        span.parent = "%016x" % chance.getrandbits(64)
    elif way == 3:
        span.parent = ""
    elif way == 4:
        span.parent = other.id
    elif way == 5:
        other.id = span.id
    elif way == 6:
        span.id = ""
    elif way == 7:
        span.start += 10**9
        span.end = (span.end or span.start) + 10**9
    elif way == 8:
        span.end = (span.end or span.start) + chance.randrange(10**7)
    else:
        spans.append(span)


def make(seed, count):
    """The spans of all traces: the same for one seed."""
    chance = random.Random(seed)
    every = []
    for _ in range(count):
        spans = []
        trace = "%032x" % chance.getrandbits(128)
        start = 1700000000000 * MS + chance.randrange(10**12)
        processes = [Process(chance, chance.choice(["front", "cart", "stock"])) for _ in range(4)]
        serve(chance, trace, spans, None, processes, start,
              start + chance.choice([0, 1, 50 * MS, 500 * MS]), 3)
        for span in spans:
            span.start += span.process.offset
            span.end += span.process.offset
        for _ in range(chance.choice([0, 0, 1, 1, 2, 5])):
            spoil(chance, spans)
        every += spans
    return every


# --- The two encodings ---


def json_value(value):
    if isinstance(value, list):
        return {"arrayValue": {"values": [json_value(one) for one in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def json_span(span, padding):
    one = {"traceId": span.trace, "spanId": span.id, "parentSpanId": span.parent,
           "name": span.name, "kind": span.kind, "startTimeUnixNano": str(span.start)}
    if span.end is not None:
        one["endTimeUnixNano"] = str(span.end)
    if span.is_failed:
        one["status"] = {"code": 2}
    if padding:
        one["attributes"] = [{"key": "padding", "value": json_value("x" * padding)}]
    return one


def as_json(spans, is_behind=False, padding=0):
    resources = []
    for span in spans:
        members = [("resource", {"attributes": [{"key": key, "value": json_value(value)}
                                                for key, value in span.process.attributes]}),
                   ("scopeSpans", [{"spans": [json_span(span, padding)]}])]
        resources.append(dict(members[::-1] if is_behind else members))
    return json.dumps({"resourceSpans": resources}).encode()


def value_bytes(value):
    if isinstance(value, list):
        return field(5, b"".join(field(1, value_bytes(one)) for one in value))
    return varint(3 << 3) + varint(value) if isinstance(value, int) else field(1, value.encode())


def attribute(key, value):
    return field(1, key.encode()) + field(2, value_bytes(value))


def span_bytes(span, padding):
    one = field(1, bytes.fromhex(span.trace)) + field(2, bytes.fromhex(span.id))
    if span.parent:
        one += field(4, bytes.fromhex(span.parent))
    one += field(5, span.name.encode()) + varint(6 << 3) + varint(span.kind)
    one += varint(7 << 3 | 1) + struct.pack("<Q", span.start)
    if span.end is not None:
        one += varint(8 << 3 | 1) + struct.pack("<Q", span.end)
    if padding:
        one += field(9, attribute("padding", "x" * padding))
    return one + (field(15, varint(3 << 3) + varint(2)) if span.is_failed else b"")


def as_protobuf(spans, is_behind=False, padding=0):
    request = b""
    for span in spans:
        resource = field(1, b"".join(field(1, attribute(*pair))
                                     for pair in span.process.attributes))
        scopes = field(2, field(2, span_bytes(span, padding)))
        request += field(1, scopes + resource if is_behind else resource + scopes)
    return request


def send(spans, port, chance):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    chance.shuffle(spans)
    while spans:
        # a large one is read in pieces
        count, padding = (400, 4000) if chance.random() < 0.05 else (chance.randrange(1, 60), 0)
        some, spans = spans[:count], spans[count:]
        encode = chance.choice([as_json, as_protobuf])
        body = encode(some, chance.random() < 0.5, padding)
        headers = {"Content-Type": "application/json" if encode == as_json else
                   "application/x-protobuf"}
        if chance.random() < 0.3:
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        connection.request("POST", "/v1/traces", body, headers)
        reply = connection.getresponse()
        words = reply.read()
        if reply.status != 200:
            sys.exit("FAIL: %d %r" % (reply.status, words))


def main():
    command, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    spans = make(seed, count)
    if command == "make":
        with open(sys.argv[4], "wb") as out:
            out.write(as_json(spans))
        with open(sys.argv[5], "wb") as out:
            out.write(as_protobuf(spans))
    else:
        send(spans, int(sys.argv[4]), random.Random(seed + 1))


main()
