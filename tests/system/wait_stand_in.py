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
