# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""What the tests of examples/interop/python/cpt_trace.py share; its folder is the first
argument of each."""
import http.server
import os
import socket
import sys
import threading
import time
import wsgiref.util

sys.path.insert(0, sys.argv.pop(1))
import cpt_trace  # noqa: E402

ASK = "1;max=2048"


def forwarding_list():
    """The lines of wire/forwarding-headers.txt: {"is": ["via", …], "yes": […], …}."""
    lines = {}
    name = os.path.join(os.environ["CPT_SOURCE"], "wire/forwarding-headers.txt")
    with open(name, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                what, value = line.split()
                lines.setdefault(what, []).append(value)
    return lines


class Clock:
    def __init__(self):
        self.now_ns = 1000

    def __call__(self):
        return self.now_ns


def service(**options):
    clock = Clock()
    options.setdefault("trust", ["127.0.0.0/8"])
    one = cpt_trace.Service("S", clock=clock, **options)
    return one, clock


def text(path):
    """A path as "S: / 5, S: /;B: / 20"."""
    parts = []
    for frame, duration_ns, count, flags, reason, labels in path.segments:
        names = []
        for name, kind in path.stack(frame):
            names.append(name.decode() if kind == 0 else "%s‹%d›" % (name.decode(), kind))
        parts.append(";".join(names) + (" %d" % duration_ns) + ("r%d" % reason if reason else ""))
    return ", ".join(parts)


def callee(duration_ns, name=b"B: /"):
    path = cpt_trace.Path()
    path.append(path.frame(None, name), duration_ns)
    return cpt_trace.encode_header(cpt_trace.encode(path, 2048, duration_ns))


def wsgi_call(app, path="/", **environ):
    """Runs a WSGI application as a server would. (status, headers, body)"""
    environ = dict({"REMOTE_ADDR": "127.0.0.1", "PATH_INFO": path}, **environ)
    wsgiref.util.setup_testing_defaults(environ)
    head = []
    out = []

    def start_response(status, headers, exc_info=None):
        if head and exc_info is None:
            raise AssertionError("twice")
        head[:] = [status, headers]
        return out.append

    body = app(environ, start_response)
    try:
        for chunk in body:
            if not head:
                raise AssertionError("a chunk before the head")
            out.append(chunk)
    finally:
        if hasattr(body, "close"):
            body.close()
    return head[0], head[1], b"".join(out)


def header_of(headers):
    values = [value for name, value in headers if name == "critical-path-bin"]
    return values[0] if len(values) == 1 else values or None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        server.asks.append(self.headers.get_all("critical-path"))
        server.contexts.append(
            (self.headers.get_all("traceparent"), self.headers.get_all("tracestate"))
        )
        if self.path == "/drop":
            self.close_connection = True
            return
        if self.path == "/slow":
            server.release.wait(30)
        self.send_response(404 if self.path == "/none" else 200)
        for value in server.replies:
            self.send_header("critical-path-bin", value)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def wait_of_kernel_ns():
    """For how long the kernel says that a request has waited which waited 200 ms."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        with socket.create_connection(listening.getsockname()) as client:
            client.sendall(b"GET / HTTP/1.1\r\n\r\n")
            time.sleep(0.2)
            connection, _ = listening.accept()
            with connection:
                return cpt_trace._kernel_wait_ns(connection)


def skip(test, why):
    print("skipped: %s: %s" % (test.id().rpartition(".")[2], why))
    test.skipTest(why)


def serve(server):
    """Runs a server of http.server until the end of the test."""
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server
