# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# collect_client.py COMMAND ARGUMENTS... - sends spans to cpt collect as services would.
#
#   spans COUNT SEED FILE          makes COUNT traces; writes them to FILE, as a request
#   send PORT FILE SEED            sends the spans of FILE in any order, in many requests,
#                                  by several clients, in all encodings
#   in_order PORT FILE             sends them in one order, by one client
#   late PORT                      sends a trace, then after a while one more span of it
#   answers PORT                   what is answered to good and bad requests
#   hostile PORT SEED              damaged, endless and compressed bytes
#   grpc PORT FILE                 sends the spans of FILE over gRPC, and bad messages
#   load PORT PID PROCESSES BYTES SECONDS
#                                  sends BYTES a second from each of PROCESSES, in a
#                                  request a second; prints the CPU time that it took
#   metric PORT NAME [VALUE]       prints a counter, or waits until it has this value
import gzip
import http.client
import json
import os
import random
import struct
import sys
import threading
import time
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from protobuf import field, varint  # noqa: E402

JSON = "application/json"
PROTOBUF = "application/x-protobuf"


def fail(text):
    sys.exit("FAIL: " + text)


# --- Spans ---


def make_trace(chance):
    """A tree of spans, some of them pairs of a client and a server."""
    trace = "%032x" % chance.getrandbits(128)
    start = 1700000000000000000 + chance.randrange(10**12)
    spans = [[trace, "%016x" % chance.getrandbits(64), "", "front", "GET /", 2, start,
              start + chance.randrange(10**6, 10**8), chance.random() < 0.2]]
    for _ in range(chance.randrange(12)):
        parent = chance.choice(spans)
        begin = chance.randrange(parent[6], parent[7] + 1)
        spans.append([trace, "%016x" % chance.getrandbits(64), parent[1],
                      chance.choice(["front", "cart", "stock", "größe"]),
                      chance.choice(["get", "find \"x\"", "put"]), chance.randrange(1, 4),
                      begin, chance.randrange(begin, parent[7] + 1), False])
    return spans


def resource_of(span):
    one = {"traceId": span[0], "spanId": span[1], "parentSpanId": span[2], "name": span[4],
           "kind": span[5], "startTimeUnixNano": str(span[6]),
           "endTimeUnixNano": str(span[7])}
    if span[8]:
        one["status"] = {"code": 2}
    return {"resource": {"attributes": [
        {"key": "service.name", "value": {"stringValue": span[3]}}]},
        "scopeSpans": [{"spans": [one]}]}


def as_json(spans):
    return json.dumps({"resourceSpans": [resource_of(span) for span in spans]}).encode()


def spans_of(name):
    """The spans of a request in a file."""
    spans = []
    for resource in json.load(open(name))["resourceSpans"]:
        service = resource["resource"]["attributes"][0]["value"]["stringValue"]
        for one in resource["scopeSpans"][0]["spans"]:
            spans.append([one["traceId"], one["spanId"], one["parentSpanId"], service,
                          one["name"], one["kind"], int(one["startTimeUnixNano"]),
                          int(one["endTimeUnixNano"]), "status" in one])
    return spans


# --- Protobuf, by the encoding's definition ---


def as_protobuf(spans):
    request = b""
    for span in spans:
        one = field(1, bytes.fromhex(span[0])) + field(2, bytes.fromhex(span[1]))
        if span[2]:
            one += field(4, bytes.fromhex(span[2]))
        one += field(5, span[4].encode()) + varint(6 << 3) + varint(span[5])
        one += varint(7 << 3 | 1) + struct.pack("<Q", span[6])
        one += varint(8 << 3 | 1) + struct.pack("<Q", span[7])
        if span[8]:
            one += field(15, varint(3 << 3) + varint(2))
        service = field(1, field(1, b"service.name") + field(2, field(1, span[3].encode())))
        request += field(1, field(1, service) + field(2, field(2, one)))
    return request


# --- Requests ---


class Client:
    def __init__(self, port):
        self.port = port
        self.connection = None

    def ask(self, verb, path, body=None, headers=None):
        for attempt in range(2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                             timeout=60)
            try:
                self.connection.request(verb, path, body, headers or {})
                reply = self.connection.getresponse()
                data = reply.read()
                if reply.getheader("Connection") == "close":
                    self.connection = None
                return reply.status, reply, data
            except (OSError, http.client.HTTPException):
                self.connection = None
                if attempt == 1:
                    raise

    def post(self, body, kind=JSON, encoding=None):
        headers = {"Content-Type": kind}
        if encoding:
            headers["Content-Encoding"] = encoding
        return self.ask("POST", "/v1/traces", body, headers)


def send_all(port, requests):
    client = Client(port)
    for body, kind, encoding in requests:
        status, reply, data = client.post(body, kind, encoding)
        if status != 200 or reply.getheader("Content-Type") != kind:
            fail("%d %r to a good request" % (status, data))
        if data != (b"{}" if kind == JSON else b""):
            fail("%r to a good request" % data)


def send(port, name, seed):
    chance = random.Random(int(seed))
    spans = spans_of(name)
    chance.shuffle(spans)
    parts = [[] for _ in range(4)]
    while spans:
        count = chance.randrange(1, 20)
        some, spans = spans[:count], spans[count:]
        kind = chance.choice([JSON, PROTOBUF])
        body = as_json(some) if kind == JSON else as_protobuf(some)
        encoding = chance.choice([None, "gzip"])
        if encoding:
            body = gzip.compress(body)
        chance.choice(parts).append((body, kind, encoding))
    threads = [threading.Thread(target=send_all, args=(int(port), part)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_order(port, name):
    spans = sorted(spans_of(name), key=lambda span: span[1])
    send_all(int(port), [(as_protobuf(spans[at:at + 50]), PROTOBUF, None)
                         for at in range(0, len(spans), 50)])


def late(port):
    client = Client(int(port))
    spans = make_trace(random.Random(7))
    spans += [spans[0][:1] + ["00000000000000aa", spans[0][1]] + spans[0][3:]]
    before = value_of(int(port), "traces_total")
    client.post(as_json(spans[:-1]))
    wait_for(int(port), "traces_total", before + 1)
    client.post(as_json(spans[-1:]))
    client.post(as_protobuf(spans[-1:]), PROTOBUF)


# --- Counters ---


def value_of(port, name):
    status, _, data = Client(port).ask("GET", "/metrics")
    if status != 200:
        fail("/metrics: %d" % status)
    for line in data.decode().splitlines():
        if line.startswith("cpt_collect_" + name + " "):
            return float(line.split()[1])
    fail("no counter " + name)


def wait_for(port, name, value):
    for _ in range(1200):
        got = value_of(port, name)
        if got == value:
            return
        time.sleep(0.05)
    fail("%s is %s, not %s" % (name, got, value))


def metric(port, name, value=None):
    if value is None:
        print("%g" % value_of(int(port), name))
    else:
        wait_for(int(port), name, float(value))


# --- What is refused ---


def expect(got, status, kind, words=b""):
    if got[0] != status or got[1].getheader("Content-Type") != kind or words not in got[2]:
        fail("%r: %d %s %r" % (words, got[0], got[1].getheader("Content-Type"), got[2]))


def answers(port):
    client = Client(int(port))
    good = as_json(make_trace(random.Random(1)))
    expect(client.post(good, "application/json; charset=utf-8"), 200, JSON, b"{}")
    expect(client.post(b"", PROTOBUF), 200, PROTOBUF)
    expect(client.post(b"{}"), 200, JSON, b"{}")
    expect(client.post(gzip.compress(b"{}"), JSON, "GZIP"), 200, JSON, b"{}")
    expect(client.post(good, "text/plain"), 415, "text/plain", b"Content-Type")
    expect(client.post(good, JSON, "br"), 415, JSON, b"Content-Encoding")
    expect(client.post(good[:-1]), 400, JSON, b'"code":3')
    expect(client.post(b"[]"), 400, JSON)
    # spans under another name would be lost
    expect(client.post(good.replace(b"resourceSpans", b"resource_spans")), 400, JSON,
           b"resourceSpans")
    expect(client.post(good.replace(b"scopeSpans", b"scope_spans")), 400, JSON,
           b"OTLP 1.x")
    large = good.replace(b"scopeSpans", b"scope_spans") + b" " * (1 << 20)
    expect(client.post(large), 400, JSON, b"OTLP 1.x")
    # a text that is none costs nothing but itself
    expect(client.post(good.replace(b'"name": "', b'"name": "\xff\\ud800')), 200, JSON, b"{}")
    expect(client.post(good, JSON, "gzip"), 200, JSON)  # says so, but is not compressed
    expect(client.post(gzip.compress(good)[:-9], JSON, "gzip"), 400, JSON)
    expect(client.post(gzip.compress(good), JSON), 400, JSON)
    got = client.post(b"\x0a\x05ab", PROTOBUF)
    expect(got, 400, PROTOBUF)
    if not got[2].startswith(b"\x08\x03\x12"):  # google.rpc.Status, code 3
        fail("no status: %r" % got[2])
    bad = good.replace(b'"traceId": "', b'"traceId": "0')
    got = client.post(bad)
    expect(got, 200, JSON)
    count = json.loads(got[2])["partialSuccess"]["rejectedSpans"]
    if int(count) != good.count(b"traceId"):
        fail("%s spans rejected" % count)
    got = client.post(field(1, field(2, field(2, field(1, b"short")))), PROTOBUF)
    expect(got, 200, PROTOBUF)
    if not got[2].startswith(b"\x0a") or b"\x08\x01\x12" not in got[2][:6]:
        fail("no partial success: %r" % got[2])
    if client.ask("GET", "/v1/traces")[0] != 405 or client.ask("GET", "/v1")[0] != 404:
        fail("GET")
    if client.ask("GET", "/healthz")[0] != 200 or client.ask("GET", "/readyz")[0] != 200:
        fail("health")
    large = Client(int(port)).ask("POST", "/v1/traces", b" " * (21 << 20),
                                  {"Content-Type": JSON})
    if large[0] != 413:
        fail("21 MB: %d" % large[0])
    expect(client.post(gzip.compress(b" " * (70 << 20)), JSON, "gzip"), 413, JSON)


def hostile(port, seed):
    chance = random.Random(int(seed))
    client = Client(int(port))
    spans = make_trace(chance)
    for _ in range(150):
        kind = chance.choice([JSON, PROTOBUF])
        body = bytearray(as_json(spans) if kind == JSON else as_protobuf(spans))
        for _ in range(chance.randrange(1, 4)):
            way = chance.randrange(4)
            at = chance.randrange(len(body)) if body else 0
            if way == 0 and body:
                body[at] = chance.randrange(256)
            elif way == 1:
                del body[at:at + chance.randrange(1, 50)]
            elif way == 2:
                body[at:at] = bytes(chance.randrange(256) for _ in range(8))
            else:
                body[at:at] = body[:chance.randrange(len(body) + 1)]
        body = bytes(body)
        encoding = None
        if chance.random() < 0.3:
            body = gzip.compress(body)[:chance.randrange(1, 4000)]
            encoding = "gzip"
        status = client.post(body, kind, encoding)[0]
        if status not in (200, 400):
            fail("%d to %r" % (status, body[:200]))
    deep = b'{"resourceSpans":' + b"[" * 100000
    if client.post(deep)[0] != 400 or client.post(deep, PROTOBUF)[0] != 400:
        fail("deep")
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = b"".join(bomb.compress(bytes(1 << 20)) for _ in range(80)) + bomb.flush()
    if client.post(data, PROTOBUF, "gzip")[0] != 400:
        fail("zeros are no protobuf")
    bomb = zlib.compressobj(9, zlib.DEFLATED, 31)
    data = bomb.compress(varint(100 << 3 | 2) + varint(80 << 20))
    data += b"".join(bomb.compress(bytes(1 << 20)) for _ in range(80)) + bomb.flush()
    if client.post(data, PROTOBUF, "gzip")[0] != 413:
        fail("a bomb")
    endless = [make_trace(chance)[0][:1] + ["%016x" % number, "00000000000000bb", "x" * 4000,
                                            "y" * 4000, 1, 5, 6, False]
               for number in range(1, 1000)]
    for span in endless:
        span[0] = "000000000000000000000000000000ee"  # one trace, of many bytes
    for at in range(0, len(endless), 100):
        if client.post(as_protobuf(endless[at:at + 100]), PROTOBUF)[0] != 200:
            fail("endless")


def over_grpc(port, name):
    import grpc
    path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    with grpc.insecure_channel("127.0.0.1:" + port) as channel:
        export = channel.unary_unary(path)
        spans = spans_of(name)
        random.Random(3).shuffle(spans)
        for at in range(0, len(spans), 7):
            kind = [grpc.Compression.NoCompression, grpc.Compression.Gzip][at % 2]
            reply = export(as_protobuf(spans[at:at + 7]), timeout=60, compression=kind)
            if reply != b"":
                fail("%r" % reply)
        reply = export(field(1, field(2, field(2, field(1, b"short")))), timeout=60)
        if not reply.startswith(b"\x0a") or b"\x08\x01\x12" not in reply[:6]:
            fail("no partial success: %r" % reply)
        for call, body, code in (
                (export, b"\x0a\x05ab", grpc.StatusCode.INVALID_ARGUMENT),
                (export, bytes(21 << 20), grpc.StatusCode.RESOURCE_EXHAUSTED),
                (channel.unary_unary(path + "s"), b"", grpc.StatusCode.UNIMPLEMENTED)):
            try:
                call(body, timeout=60)
                fail("%r is taken" % body[:10])
            except grpc.RpcError as error:
                if error.code() != code:
                    fail("%s, not %s" % (error.code(), code))


# --- Load ---


SPAN_BYTES = 426  # of a span in a request, on average, as in the article on Dapper


def loaded_span(chance, trace, parent, number):
    """A span within @parent, a span, or a root."""
    begin = parent[6] if parent else time.time_ns() - 10**9
    end = parent[7] if parent else begin + 10**8
    start = begin + chance.randrange(end - begin)
    return [trace, "%016x" % chance.getrandbits(64), parent[1] if parent else "",
            "service-%d" % number, "/package.Service/Method", 2 if number % 2 else 3,
            start, min(end, start + 1 + chance.randrange(end - begin)), False]


def padded(spans):
    """A request whose spans have SPAN_BYTES each, with attributes as SDKs send them."""
    request = b""
    for number in sorted(set(span[3] for span in spans)):
        own = [span for span in spans if span[3] == number]
        service = field(1, field(1, b"service.name") + field(2, field(1, number.encode())))
        body = b""
        for span in own:
            one = field(1, bytes.fromhex(span[0])) + field(2, bytes.fromhex(span[1]))
            if span[2]:
                one += field(4, bytes.fromhex(span[2]))
            one += field(5, span[4].encode()) + varint(6 << 3) + varint(span[5])
            one += varint(7 << 3 | 1) + struct.pack("<Q", span[6])
            one += varint(8 << 3 | 1) + struct.pack("<Q", span[7])
            for key in ("http.request.method", "url.path", "network.peer.address",
                        "server.port", "user_agent.original", "http.route"):
                value = b"v" * 20
                one += field(9, field(1, key.encode()) + field(2, field(1, value)))
            one += field(9, field(1, b"pad") + field(2, field(1, bytes(
                max(0, SPAN_BYTES - len(one) - 18)))))
            body += field(2, one)
        request += field(1, field(1, service) + field(2, body))
    return request


def cpu_of(pid):
    """Seconds on a processor; by the scheduler, to the nanosecond."""
    return sum(int(open("/proc/%s/task/%s/schedstat" % (pid, task)).read().split()[0])
               for task in os.listdir("/proc/%s/task" % pid)) / 1e9


def load(port, pid, processes, rate, seconds):
    chance = random.Random()
    processes, rate, seconds = int(processes), int(rate), int(seconds)
    count = max(1, rate // SPAN_BYTES)
    rounds = []
    for _ in range(seconds):  # made before, so that only the sending is timed
        parts = [[] for _ in range(processes)]
        trace, spans = None, []
        for number in range(count * processes):
            if len(spans) % 10 == 0:
                trace, spans = "%032x" % chance.getrandbits(128), []
            parent = chance.choice(spans) if spans else None
            at = number % processes
            spans.append(loaded_span(chance, trace, parent, at))
            parts[at].append(spans[-1])
        rounds.append([padded(part) for part in parts if part])
    clients = [Client(int(port)) for _ in range(processes)]
    sent = sum(len(body) for bodies in rounds for body in bodies)
    begin, cpu = time.time(), cpu_of(pid)
    for number, bodies in enumerate(rounds):
        for at, body in enumerate(bodies):
            pause = begin + number + at / processes - time.time()
            if pause > 0:
                time.sleep(pause)
            if clients[at].post(body, PROTOBUF)[0] != 200:
                fail("load")
    time.sleep(max(0, begin + seconds + 6 - time.time()))  # until the last is written
    took = time.time() - begin - 6
    cpu = cpu_of(pid) - cpu
    spans = count * processes * seconds
    print("%d x %d B/s: %.0f spans/s, %.0f kB/s, %.3f %% of a core, %.2f us a span" % (
        processes, rate, spans / took, sent / took / 1000, 100 * cpu / took,
        1e6 * cpu / spans))


def write_spans(count, seed, name):
    chance = random.Random(int(seed))
    spans = [span for _ in range(int(count)) for span in make_trace(chance)]
    open(name, "wb").write(as_json(spans))


commands = {"spans": write_spans, "send": send, "in_order": in_order, "late": late,
            "answers": answers, "hostile": hostile, "grpc": over_grpc, "load": load, "metric": metric}
commands[sys.argv[1]](*sys.argv[2:])
