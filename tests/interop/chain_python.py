# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""chain_python.py FOLDER HOST:PORT - service B of the chain: /search asks C: /ads, twice at
the same time and once more. It keeps connections, as a real server does. Prints where it
listens."""
import concurrent.futures
import http.server
import sys
import urllib.parse
import urllib.request

sys.path.insert(0, sys.argv[1])
import cpt_trace  # noqa: E402

AUTHORITY = sys.argv[2]


def ask(query):
    with urllib.request.urlopen("http://%s/ads?%s" % (AUTHORITY, query), timeout=60) as answer:
        return answer.read().decode()


def app(environ, start_response):
    query = environ["QUERY_STRING"]
    item = urllib.parse.parse_qs(query)["id"][0]
    with cpt_trace.part("item " + item):
        if item.startswith("fails-b"):
            raise RuntimeError(item)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(ask, [query, query]))
        answers.append(ask(query))
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [("B(%s)" % ",".join(answers)).encode()]


class Handler(http.server.BaseHTTPRequestHandler):
    """A WSGI server with connections that are kept."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        environ = {
            "REQUEST_METHOD": "GET",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REMOTE_ADDR": self.client_address[0],
        }
        for name in set(self.headers):
            values = ",".join(self.headers.get_all(name))
            environ["HTTP_" + name.upper().replace("-", "_")] = values
        head = []
        try:
            body = b"".join(APP(environ, lambda *words: head.extend(words)))
        except Exception as error:
            head[:] = ["500 Failed", []]
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
SERVICE = cpt_trace.Service("B", trust=["127.0.0.0/8"], callees={AUTHORITY: "C"})
APP = cpt_trace.WSGI(app, SERVICE)
server = Server(("127.0.0.1", 0), Handler)
print("B listens on 127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
