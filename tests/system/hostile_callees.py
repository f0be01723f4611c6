# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""hostile_callees.py HELPERS CPT [grpc] - callees that send anything in the place of a path

    asks --> A, an entry in C --> a callee made of sockets, or of grpcio

For each form of hostile_paths.py: A's answer is the same with and without tracing, its own
path adds up, and its names are bytes that a terminal survives. Callees that are slow or have
no end are cut off by the request's deadline. The memory of A stays what it was."""
import base64
import concurrent.futures
import http.client
import json
import os
import socket
import socketserver
import subprocess
import sys
import threading
import time

import proxy_programs
from hostile_paths import GOOD, HOSTILE, mutated

HELPERS, CPT = sys.argv[1:3]
IS_GRPC = sys.argv[3:] == ["grpc"]
FORMS = dict(HOSTILE + mutated(150, 20261123))
ASK = {"critical-path": "1;forced"}
DEADLINE_US = 500000
WITHIN_S = 60  # far beyond what a busy machine needs
# AddressSanitizer keeps 256 MiB of what was freed.
GROWTH_BYTES = (512 if os.environ.get("CPT_SANITIZE") else 64) << 20
TRIES = 50
CALL = "m: Hello" if IS_GRPC else "b: /chain"


def fail(*words):
    sys.exit("FAIL: " + " ".join(str(word) for word in words))


# --- A callee over HTTP ---

def head(values):
    text = "".join("critical-path-bin: %s\r\n" % base64.b64encode(value).decode().rstrip("=")
                   for value in values)
    return "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n%s\r\n" % text


def drip(out, pieces):
    """Sends a little, for as long as the other side stays."""
    for piece in pieces:
        out.sendall(piece)
        time.sleep(0.02)


def forever(piece):
    while True:
        yield piece


ENDLESS = {
    "silence": lambda out: drip(out, forever(b"")),
    "a head byte by byte": lambda out: drip(out, (b"%c" % byte for byte in head([GOOD] * 99)
                                                  .encode())),
    "a path without an end": lambda out: (
        out.sendall(b"HTTP/1.1 200 OK\r\ncritical-path-bin: "), drip(out, forever(b"A" * 64))),
    "headers without an end": lambda out: (
        out.sendall(b"HTTP/1.1 200 OK\r\n"), drip(out, forever(b"critical-path-bin: AA\r\n" * 99))),
    "a body without an end": lambda out: (
        out.sendall(head([GOOD]).replace("Content-Length: 2", "Transfer-Encoding: chunked")
                    .encode()), drip(out, forever(b"1000\r\n" + b"x" * 4096 + b"\r\n"))),
    "a path of 1 MiB": lambda out: out.sendall(head([b"x" * (1 << 20)]).encode() + b"ok"),
    "interim answers without an end": lambda out: drip(out, forever(
        b"HTTP/1.1 103 Early\r\ncritical-path-bin: AA\r\n\r\n" * 20)),
}


class Callee(socketserver.BaseRequestHandler):
    """Answers /NUMBER/… with the form of that number."""

    def handle(self):
        reader = self.request.makefile("rb")
        while True:
            line = reader.readline()
            if not line:
                return
            while reader.readline() not in (b"\r\n", b""):
                pass
            what = line.split()[1].split(b"/")[1].decode()
            try:
                if what.startswith("e"):
                    list(ENDLESS.values())[int(what[1:])](self.request)
                    return
                self.request.sendall(head(list(FORMS.values())[int(what)]).encode() + b"ok")
            except OSError:
                return


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128


def start_http():
    server = Server(("127.0.0.1", 0), Callee)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return proxy_programs.service("a", [
        HELPERS + "/proxied", "A", "--listen", "127.0.0.1:0", "--trust", "127.0.0.0/8",
        "--to", "b=http://127.0.0.1:%d" % server.server_address[1]])


# --- A callee over gRPC ---

def start_grpc():
    try:
        import grpc
    except ImportError:
        print("skipped: python3-grpcio is not installed")
        sys.exit(77)

    def hello(request, context):
        what = request[2:].decode()
        if what.startswith("e"):
            kinds = {"e0": lambda: time.sleep(5), "e1": lambda: context.set_trailing_metadata(
                [("critical-path-bin", b"x" * (1 << 17))]), "e2": lambda: context.set_trailing_metadata(
                [("critical-path-bin", GOOD)] * 300)}
            kinds[what]()
        elif what:
            values = list(FORMS.values())[int(what)]
            context.set_trailing_metadata([("critical-path-bin", value) for value in values])
        return b"\x0a\x02ok"

    class Generic(grpc.GenericRpcHandler):
        def service(self, details):
            return grpc.unary_unary_rpc_method_handler(hello)

    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers((Generic(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    start_grpc.server = server
    return proxy_programs.service("a", [
        HELPERS + "/grpc_chain", "A", "--listen", "127.0.0.1:0", "--trust", "127.0.0.0/8",
        "--to", "m=127.0.0.1:%d" % port])


# --- What A makes of it ---

def ask(port, what, number, headers):
    one = http.client.HTTPConnection("127.0.0.1", port, timeout=WITHIN_S)
    target = "/?%s" % what if IS_GRPC else "/%s/%d" % (what, number)
    one.request("GET", target, headers=headers)
    answer = one.getresponse()
    body = answer.read()
    value = answer.headers["critical-path-bin"]
    one.close()
    return answer.status, body, value


def shown(value):
    """The path of A, checked."""
    done = subprocess.run([CPT, "metadata", "--json", value], stdout=subprocess.PIPE, check=True)
    path = json.loads(done.stdout)
    total = sum(segment["duration_ns"] for segment in path["segments"])
    if not total == path["sum_ns"] == path["server_elapsed_ns"]:
        fail("a path that does not add up:", path)
    text = subprocess.run([CPT, "metadata", value], stdout=subprocess.PIPE, check=True).stdout
    if any(byte < 32 and byte != 10 for byte in text):
        fail("control bytes are printed:", text)
    return path


def peak_bytes(process):
    with open("/proc/%d/status" % process.pid) as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def reason_of(path):
    reasons = [segment.get("reason") for segment in path["segments"] if segment.get("reason")]
    return reasons[0] if reasons else "taken"


def check_forms(port):
    reasons = {}
    for i, form in enumerate(FORMS):
        plain = ask(port, str(i), 0, {})
        for attempt in range(1, TRIES):
            traced = ask(port, str(i), attempt, ASK)
            if plain[:2] != traced[:2] or plain[0] != 200 or plain[2] is not None:
                fail(form, plain, traced)
            if traced[2] is None:
                fail(form, "A has no path")
            path = shown(traced[2])
            if any(CALL in segment["stack"] for segment in path["segments"]):
                break  # else the reply came before A began to wait for it
        else:
            fail(form, "the call is never on the path:", path)
        reason = reason_of(path)
        reasons[reason] = reasons.get(reason, 0) + 1
        frames = {frame for segment in path["segments"] for frame in segment["stack"][:1]}
        if any(not frame.startswith("A: ") for frame in frames):
            fail(form, "stands in A's place:", frames)
    print("%d forms: %s" % (len(FORMS), ", ".join(
        "%d %s" % (count, reason) for reason, count in sorted(reasons.items()))), flush=True)
    if reasons.get("undecodable", 0) < 20 or reasons.get("size", 0) < 2:
        fail("forms are not refused")


def check_endless(port):
    names = ["silence", "128 KiB of path", "300 paths"] if IS_GRPC else list(ENDLESS)
    headers = {"cpt-timeout": str(DEADLINE_US)}

    def both(i):
        begin = time.monotonic()
        plain = ask(port, "e%d" % i, 0, headers)
        traced = ask(port, "e%d" % i, 1, dict(headers, **ASK))
        return plain, traced, time.monotonic() - begin

    # over gRPC in turn, as all calls share a connection, which one of them may break
    with concurrent.futures.ThreadPoolExecutor(1 if IS_GRPC else len(names)) as pool:
        for name, (plain, traced, took) in zip(names, pool.map(both, range(len(names)))):
            # at the deadline of both either the call ends first, and A answers, or the request
            both_late = IS_GRPC and plain[0] == traced[0] == 504
            if (plain[:2] != traced[:2] and not both_late) or took > WITHIN_S:
                fail(name, plain, traced, took)
            if traced[2] is not None:
                shown(traced[2])
            print("%s: %d, in both cases" % (name, plain[0]), flush=True)


def main():
    port = start_grpc() if IS_GRPC else start_http()
    service = proxy_programs.running[-1]
    for i in range(50):
        ask(port, "0", i, ASK)
    before = peak_bytes(service)
    check_forms(port)
    check_endless(port)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for status, _, value in pool.map(
                lambda i: ask(port, str(i % len(FORMS)), i, ASK), range(1000)):
            if status != 200 or value is None:
                fail("one of many:", status)
    grown = peak_bytes(service) - before
    print("at most %d MiB of memory, %d more than at first" % (
        peak_bytes(service) >> 20, grown >> 20))
    if grown > GROWTH_BYTES:
        fail("memory grew by", grown)
    if service.poll() is not None:
        fail("A has ended")
    print("all is well")
    sys.stdout.flush()
    proxy_programs.stop()
    os._exit(0)  # threads of callees may still sleep


main()
