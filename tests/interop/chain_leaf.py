# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""chain_leaf.py FOLDER NODE - the service "d" in Python: POST /leaf computes for a moment, asks
the Node service for /ads, and answers with the body that it was sent. NODE is HOST:PORT.
Prints where it listens."""
import sys
import time
import urllib.request
import wsgiref.simple_server

sys.path.insert(0, sys.argv[1])
import cpt_trace  # noqa: E402

NODE = sys.argv[2]


def app(environ, start_response):
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    with cpt_trace.part("rank"):
        time.sleep(0.003)
        with urllib.request.urlopen("http://%s/ads?id=7" % NODE, timeout=60) as answer:
            answer.read()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [body]


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


cpt_trace.install()
service = cpt_trace.Service("d", trust=["127.0.0.0/8"], callees={NODE: "N"})
server = wsgiref.simple_server.make_server("127.0.0.1", 0, cpt_trace.WSGI(app, service),
                                           handler_class=Quiet)
print("d listens on 127.0.0.1:%d" % server.server_port, flush=True)
server.serve_forever()
