# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""headed.py FOLDER NAME entry|hop|leaf [HOST:PORT] - headed.c in Python, with FOLDER's
cpt_trace.py: a WSGI service whose replies carry other headers, and connections that are kept."""
import http.server
import itertools
import sys
import time
import urllib.request

FOLDER, NAME, ROLE = sys.argv[1:4]
NEXT = sys.argv[4] if len(sys.argv) > 4 else None
sys.path.insert(0, FOLDER)
import cpt_trace  # noqa: E402

PIECE = 400
COUNT = itertools.count(1)


def own_headers(heads):
    own = heads.split("-")[0]
    left = int(own.rstrip("c"))
    headers = [("Content-Type", "text/plain")]
    for number in itertools.count():
        name = "x-other-%d" % number
        some = min(left, PIECE)
        if some <= len(name) + 4:
            break
        headers.append((name, "p" * (some - len(name) - 4)))
        left -= some
    return headers + ([("cache-control", "public, max-age=600")] if own.endswith("c") else [])


def app(environ, start_response):
    _, n, heads, which = environ["PATH_INFO"].split("/")
    rest = ""
    if NEXT:
        target = "http://%s/%s/%s/%s" % (NEXT, n, heads.partition("-")[2] or "0", which)
        with urllib.request.urlopen(target, timeout=60) as answer:
            rest = answer.read().decode()
    elif n == "2":
        with cpt_trace.part("nap"):
            time.sleep(0.003)
    else:
        for number in range(int(n)):
            with cpt_trace.part("step %d of many that have names" % number):
                pass
    start_response("200 OK", own_headers(heads))
    return [("%s.%d %s" % (NAME, next(COUNT), rest)).encode()]


class Handler(http.server.BaseHTTPRequestHandler):
    """A WSGI server."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one packet

    def do_GET(self):
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": self.path, "QUERY_STRING": "",
                   "REMOTE_ADDR": self.client_address[0]}
        for name in set(self.headers):
            values = ",".join(self.headers.get_all(name))
            environ["HTTP_" + name.upper().replace("-", "_")] = values
        head = []
        try:
            body = b"".join(APP(environ, lambda *words: head.extend(words)))
        except Exception as error:
            head[:] = ["502 Failed", []]
            body = str(error).encode()
        self.send_response(int(head[0].split()[0]))
        for name, value in head[1]:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # clients leave


cpt_trace.install()
SERVICE = cpt_trace.Service(NAME, role="entry" if ROLE == "entry" else "inner",
                            trust=["127.0.0.0/8"], trusts_forwarded=True,
                            callees={NEXT: "next"} if NEXT else {})
APP = cpt_trace.WSGI(app, SERVICE)
server = Server(("127.0.0.1", 0), Handler)
print("%s listens on 127.0.0.1:%d" % (NAME, server.server_port), flush=True)
server.serve_forever()
