# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""note_headers.py FILE NAME... - a server that answers POST with the body, GET with "ok",
and appends to FILE a line for each request: the values of the headers, those of one
joined by "&", of several by "|". Prints where it listens."""
import http.server
import sys

FILE, NAMES = sys.argv[1], sys.argv[2:]


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b"ok"
        with open(FILE, "a", encoding="latin-1") as file:
            values = ["&".join(self.headers.get_all(name) or []) for name in NAMES]
            file.write("|".join(values) + "\n")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
print("W listens on 127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
