# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""wait_stand_in.py FILE: a service that answers GET /CASE/requests as no good one does.

FILE gets the port. The process ends with SIGTERM.
"""
import json
import os
import socketserver
import sys

PORT = 0


def request(number, waits, trace="11111111111111111111111111111111"):
    return {"id": number, "method": "/m", "us": 1000 * number, "traced": False, "trace_id": trace,
            "tasks": [{"name": "S: t", "state": "waits", "for": waits}]}


def answer(requests, name="S"):
    return json.dumps({"service": name, "requests": requests, "left_out": 0})


def call(target, method="/m"):
    return {"kind": "call", "us": 5, "name": "S: /m", "target": target, "method": method}


TRACE = "%032x" % 77


def sent(target, span, path="/m", **more):
    """A call as a service tells it that knows what it sends."""
    return call(target, "PUT /m/{id}") | {"transport": "http", "verb": "PUT", "path": path, "trace_id": TRACE,
                                          "span_id": span, "sent": True, "us": 2000000} | more


def came(number, parent, path, seconds):
    """A request that came with the parent id @parent."""
    return request(number, [{"kind": "timer"}], TRACE) | {"parent_id": parent, "method": path, "us": seconds * 1000000}


def joined(case, here):
    """A caller, request 1, and requests that may be those of its call."""
    caller = request(1, [sent(here, "5" * 16)], TRACE) | {"us": 9000000}
    spans = caller | {"span_id": "7" * 16}
    if case == "own_span":  # the id decides, whatever the path is
        return [spans, came(2, "5" * 16, "/elsewhere", 1), came(3, "6" * 16, "/m", 1)]
    if case == "branch":  # all below it have the id: the path decides, too
        return [caller, came(2, "5" * 16, "/elsewhere", 1), came(3, "5" * 16, "/m", 1), came(4, "6" * 16, "/m", 1)]
    if case == "older":  # it led to the call
        return [caller, came(2, "5" * 16, "/m", 5), came(3, "5" * 16, "/m", 2)]
    if case == "only_older":
        return [caller, came(2, "5" * 16, "/m", 5)]
    if case == "queued":
        waiting = sent(here, "5" * 16)
        del waiting["sent"]
        return [request(1, [waiting], TRACE), came(2, "5" * 16, "/m", 1)]
    if case == "no_ids":
        return [request(1, [sent(here, "", trace_id="")], ""), came(2, "", "/m", 1) | {"trace_id": ""}]
    if case == "old_callee":  # tells no parent: the path decides
        return [spans, request(2, [{"kind": "timer"}], TRACE) | {"us": 1000000, "method": "/m"},
                request(3, [{"kind": "timer"}], TRACE) | {"us": 1000000, "method": "/other"}]
    if case == "shared":
        return [request(1, [{"kind": "run", "us": 2000000, "name": "S: titles"}], TRACE)]
    return None


def body_of(case):
    here = "http://127.0.0.1:%d" % PORT
    if case == "text":
        return "hello"
    if case == "half":
        return '{"service":"S","requests":[{"id":1'
    if case == "array":
        return "[1,2,3]"
    if case == "deep":
        return "[" * 100000
    if case == "names":
        bad = "\x1b[2J\x07\u202e\x00end"
        return answer([request(1, [call("http://192.0.2.1:80"), {"kind": "lock", "name": bad, "lock": 1, "holder": bad},
                                   {"kind": bad}, call("http://" + bad)], bad)], bad)
    if joined(case, here) is not None:
        return answer(joined(case, here))
    if case == "circle":
        return answer([request(i, [call(here)] * 8) for i in range(12)])
    if case == "chain":  # two that wait for each other, and one that waits for them
        return answer([request(i, [call(here, "/%d" % (3 - i))], "%032d" % 7) | {"method": "/%d" % i} for i in (1, 2)] +
                      [request(3, [call(here, "/1")], "%032d" % 7)])
    if case == "plans":
        return json.dumps({"service": "S", "methods": [{"method": "/%d" % i, "plan": {
            "service": "S", "input": {"name": "in", "type": "int"}, "output": "t9",
            "tasks": [{"name": "S: t%d" % n, "gives": {"name": "t%d" % n}, "needs": ["t%d" % (n - 1) if n else "in"]}
                      for n in range(10)]}} for i in range(3)], "left_out": 1})
    if case == "many":
        return answer([request(i, [{"kind": "timer"}]) for i in range(5000)])
    return None


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline(65536).decode("latin-1")
        while self.rfile.readline(65536).strip():
            pass
        case = line.split(" ")[1].split("/")[1]
        body = body_of(case)
        if case == "drop":
            return
        if case == "no_http":
            self.wfile.write(b"ready.\r\n\r\n")
        elif case == "redirect":
            self.wfile.write(b"HTTP/1.1 302 Found\r\nLocation: /circle/requests\r\nContent-Length: 0\r\n\r\n")
        elif case == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}")
        elif case == "endless":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            try:
                while True:
                    self.wfile.write(b"[" * 65536)
            except OSError:
                pass
        elif body is None:
            self.wfile.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        else:
            data = body.encode("utf-8")
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data) + data)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


with Server(("127.0.0.1", 0), Handler) as server:
    PORT = server.server_address[1]
    with open(sys.argv[1] + ".new", "w", encoding="ascii") as file:
        file.write("%d\n" % PORT)
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()
