# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# collect_flood.py COMMAND ARGUMENTS... - requests to cpt collect that are small and mean
# much: very many traces of one span.
#
#   make FILE KIND COUNT [WAY]     writes such a request in KIND, json or protobuf; WAY:
#                                  scattered, each span in a resource of its own; late,
#                                  the resource comes behind its spans
#   flood PORT PID MEGABYTES FILE KIND ENCODING TIMES
#                                  sends FILE so often at once, while another client sends
#                                  small requests; fails if one of these waits for long, or
#                                  if the process had more memory
#   grpc PORT GRPC_PORT PID MEGABYTES FILE TIMES
#                                  the same over gRPC, compressed; prints the answers
import gzip
import hashlib
import http.client
import os
import struct
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from protobuf import field, varint  # noqa: E402

TYPES = {"json": "application/json", "protobuf": "application/x-protobuf"}
TIMES_MAX = 3  # that a measurement of time is repeated
WAIT_S = 3.0   # of the other client, on a busy machine, too


def fail(text):
    sys.exit("FAIL: " + text)


# --- Requests ---


def attribute(key, value):
    return field(1, key) + field(2, field(1, value))


def protobuf_span(number):
    # 16 bytes that differ little: what compresses well is what floods
    return field(2, field(1, struct.pack(">QQ", 1 << 60, number + 1)) +
                 field(2, struct.pack(">Q", number + 1)) + b"\x39" +
                 struct.pack("<Q", 10**18) + b"\x41" + struct.pack("<Q", 10**18 + 1000))


def json_span(number):
    return (b'{"traceId":"%032x","spanId":"%016x","startTimeUnixNano":%d,'
            b'"endTimeUnixNano":%d}' % ((1 << 124) + number + 1, number + 1, 10**18,
                                        10**18 + 1000))


def request_of(kind, count, way):
    resource = field(1, field(1, attribute(b"service.name", b"flood")))
    if kind == "protobuf":
        spans = [protobuf_span(number) for number in range(count)]
        if way == "scattered":
            return b"".join(field(1, resource + field(2, span)) for span in spans)
        scope = field(2, b"".join(spans))
        return field(1, scope + resource if way == "late" else resource + scope)
    resource = (b'"resource":{"attributes":[{"key":"service.name","value":'
                b'{"stringValue":"flood"}}]}')
    spans = [json_span(number) for number in range(count)]
    if way == "scattered":
        return (b'{"resourceSpans":[' + b",".join(
            b'{' + resource + b',"scopeSpans":[{"spans":[' + span + b']}]}'
            for span in spans) + b']}')
    scope = b'"scopeSpans":[{"spans":[' + b",".join(spans) + b']}]'
    parts = [scope, resource] if way == "late" else [resource, scope]
    return b'{"resourceSpans":[{' + b",".join(parts) + b'}]}'


def make(name, kind, count, way="plain"):
    open(name, "wb").write(request_of(kind, int(count), way))


# --- Clients ---


def post(port, body, kind, encoding):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    headers = {"Content-Type": TYPES[kind]}
    if encoding != "identity":
        headers["Content-Encoding"] = encoding
    connection.request("POST", "/v1/traces", body, headers)
    reply = connection.getresponse()
    reply.read()
    connection.close()
    return reply.status


def one_span(number):
    return request_of("json", 1, "plain").replace(
        b"%032x" % ((1 << 124) + 1),
        hashlib.md5(b"%d" % number).hexdigest().encode())


def wait_beside(port, workers):
    """How long a small request takes at most while @workers work."""
    longest = 0
    number = 0
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers) or number == 0:
        begin = time.time()
        status = post(port, one_span(number), "json", "identity")
        longest = max(longest, time.time() - begin)
        if status != 200:
            fail("%d to a small request" % status)
        number += 1
        time.sleep(0.01)
    return longest, number


def megabytes_of(pid):
    """The most memory that a process had."""
    for line in open("/proc/%s/status" % pid):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    fail("no memory of " + pid)


def flood_by(send, port, pid, megabytes, times):
    for attempt in range(TIMES_MAX):
        statuses = []
        workers = [threading.Thread(target=lambda: statuses.append(send()))
                   for _ in range(times)]
        longest, count = wait_beside(port, workers)
        had = megabytes_of(pid)
        print("%s answered, %d small requests waited %.3f s at most, %.0f MB" %
              (statuses, count, longest, had))
        if had > megabytes:
            fail("%.0f MB" % had)
        if longest < WAIT_S:
            return statuses
    fail("another client waited for %.1f s" % longest)


def flood(port, pid, megabytes, name, kind, encoding, times):
    body = open(name, "rb").read()
    port = int(port)
    statuses = flood_by(lambda: post(port, body, kind, encoding), port, pid,
                        float(megabytes), int(times))
    if len(statuses) != int(times) or 200 not in statuses or \
            set(statuses) - {200, 503}:
        fail("answered %s" % statuses)


def flood_grpc(port, grpc_port, pid, megabytes, name, times):
    import grpc
    path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    body = open(name, "rb").read()

    def send():
        with grpc.insecure_channel("127.0.0.1:" + grpc_port) as channel:
            try:
                channel.unary_unary(path)(body, timeout=120,
                                          compression=grpc.Compression.Gzip)
                return "OK"
            except grpc.RpcError as error:
                return error.code().name

    statuses = flood_by(send, int(port), pid, float(megabytes), int(times))
    if len(statuses) != int(times) or \
            set(statuses) - {"OK", "INVALID_ARGUMENT", "RESOURCE_EXHAUSTED",
                             "UNAVAILABLE"}:
        fail("answered %s" % statuses)
    print(" ".join(sorted(set(statuses))))


commands = {"make": make, "flood": flood, "grpc": flood_grpc}
commands[sys.argv[1]](*sys.argv[2:])
