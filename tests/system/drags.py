# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""drags.py figure [CALL NS] | bounded | bytes VALUE... | callees HELPERS CPT - the drags of a path

figure, bounded: of the path on standard input, as cpt metadata --json prints it. CALL: the
call, beside which its caller computes for NS ns. bytes:
what the drags take of these values of critical-path-bin. callees: an entry in C calls a
callee made of sockets, which sends a path of its own."""
import base64
import http.client
import json
import socketserver
import subprocess
import sys
import threading
import time


def fail(*words):
    sys.exit("FAIL: " + " ".join(str(word) for word in words))


def segments():
    found = json.load(sys.stdin)["segments"]
    for segment in found:
        if segment.get("drag_ns", 0) > segment["duration_ns"]:
            fail("a drag above its segment:", segment)
    return found


def figure(name="B: /B1", beside_ns=5_000_000):
    """The callee's own segments are one after the other, so each is worth all of itself, up
    to the drag of the call: what the call took but for what A computed meanwhile."""
    found = segments()
    call = [segment for segment in found if name in segment["stack"]]
    others = [segment for segment in found if name not in segment["stack"]]
    whole = sum(segment["duration_ns"] for segment in call)
    cap = max(segment["drag_ns"] for segment in call)
    if not 0 < cap <= whole - int(beside_ns):
        fail("of a call of", whole, "ns the largest drag is", cap)
    for segment in call:
        if segment["drag_ns"] != min(segment["duration_ns"], cap):
            fail("not the smaller of duration and", cap, segment)
    for segment in others:
        if segment["drag_ns"] != segment["duration_ns"]:
            fail("nothing runs beside", segment)


def number(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def field(tag, body):
    return number(tag << 3 | 2) + number(len(body)) + body


def path(drag):
    """One segment of 1,000 ns in a frame of the callee."""
    name = b"b: /chain"
    return (b"\x08\x01\x10" + number(1000) + b"\x18" + number(1000) + field(5, name) +
            field(6, b"\0") + field(7, b"\1") + field(9, b"\0") + field(10, number(1000)) +
            (field(18, number(drag + 3)) if drag is not None else b""))


class Callee(socketserver.BaseRequestHandler):
    """Answers /N/I with the path of self.server.drag, and keeps the ask."""

    def handle(self):
        reader = self.request.makefile("rb")
        while reader.readline():
            ask = ""
            for line in iter(reader.readline, b"\r\n"):
                if line.lower().startswith(b"critical-path:"):
                    ask = line.split(b":", 1)[1].strip().decode()
            self.server.ask = ask
            value = base64.b64encode(path(self.server.drag)).decode().rstrip("=")
            time.sleep(0.005)  # so that the entry waits for it
            head = "critical-path-bin: %s\r\n" % value if ask else ""
            self.request.sendall(
                ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n%s\r\nok" % head).encode())


def fields(data):
    """The numbers of the fields of a path, and the bytes that each takes."""
    def take(at):
        value = shift = 0
        while True:
            value, shift, at = value | (data[at] & 127) << shift, shift + 7, at + 1
            if data[at - 1] < 128:
                return value, at

    at = 0
    while at < len(data):
        key, after = take(at)
        value, after = take(after)
        end = after + value if key & 7 == 2 else after
        yield key >> 3, end - at, data[after:end]
        at = end


def column_bytes(values):
    """Bytes of the column a segment; a goal of 2."""
    segment_count = drag_bytes = all_bytes = 0
    for value in values:
        data = base64.b64decode(value + "=" * (-len(value) % 4))
        all_bytes += len(data)
        for tag, size, numbers in fields(data):
            if tag == 9:
                segment_count += sum(byte < 128 for byte in numbers)
            drag_bytes += size if tag == 18 else 0
    print("%d segments: %d of %d bytes are drags, %.2f a segment" % (
        segment_count, drag_bytes, all_bytes, drag_bytes / segment_count))
    if not 0 < drag_bytes <= 2 * segment_count:
        fail("drags take more than 2 bytes a segment")


def callees(helpers, cpt):
    import proxy_programs
    socketserver.ThreadingTCPServer.daemon_threads = True
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Callee)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = proxy_programs.service("a", [
        helpers + "/proxied", "A", "--listen", "127.0.0.1:0", "--trust", "127.0.0.0/8",
        "--counters", "--to", "b=http://127.0.0.1:%d" % server.server_address[1]])

    def get(target, headers):
        one = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        one.request("GET", target, headers=headers)
        answer = one.getresponse()
        body = answer.read().decode()
        one.close()
        return body, answer.headers["critical-path-bin"]

    def seen(drag, ask):
        """The drag of the callee's segment, None if it has none."""
        server.drag, server.ask = drag, None
        _, value = get("/1/0", {"critical-path": ask})
        done = subprocess.run([cpt, "metadata", "--json", value], stdout=subprocess.PIPE,
                              check=True)
        found = json.loads(done.stdout)["segments"]
        own = [segment for segment in found
               if segment["kind"] == "work" and segment["stack"][-1] == "b: /chain"]
        if len(own) != 1:
            return "no call"
        network = [segment for segment in found if segment["kind"] == "network"]
        if ";drag" in ask and not 0 <= network[0]["drag_ns"] <= network[0]["duration_ns"]:
            fail("the way to the callee has no drag:", network)
        if (";drag" in ask) != (";drag" in server.ask):
            fail("the callee was asked", server.ask)
        return own[0].get("drag_ns")

    for drag, ask, expected in ((400, "1;forced;drag", 400), (None, "1;forced;drag", None),
                                (1000, "1;forced;drag", 1000), (400, "1;forced", None),
                                (1001, "1;forced;drag", 1000), (1 << 60, "1;forced;drag", 1000)):
        # on a busy machine A may do nothing but send until the reply has come
        if expected not in (seen(drag, ask) for _ in range(5)):
            fail("asked", ask, "the callee said", drag, "and the drag is not", expected)
    clamped = [counter["value"] for counter in json.loads(get("/cpt/counters", {})[0])["counters"]
               if counter["name"] == "callee_clamped_drags"]
    if not clamped or clamped[0] < 2:
        fail("clamped drags:", clamped)


def main():
    if sys.argv[1] == "figure":
        figure(*sys.argv[2:])
    elif sys.argv[1] == "bounded":
        segments()
    elif sys.argv[1] == "bytes":
        column_bytes(sys.argv[2:])
    else:
        callees(*sys.argv[2:])


main()
