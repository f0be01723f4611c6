# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""wsgi_server.py - serves a WSGI application over HTTP/1.1 with connections that are kept, as
a real server does."""
import http.server


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # clients leave


def serve(name, app, on_failure="500 Failed"):
    """Serves @app at a free port of the loopback, which is printed as that of @name; what an
    application raises is answered @on_failure. Does not return."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # head and body in one packet

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
                body = b"".join(app(environ, lambda *words: head.extend(words)))
            except Exception as error:
                head[:] = [on_failure, []]
                body = str(error).encode()
            self.send_response(int(head[0].split()[0]))
            for name, value in head[1]:
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = Server(("127.0.0.1", 0), Handler)
    print("%s listens on 127.0.0.1:%d" % (name, server.server_port), flush=True)
    server.serve_forever()
