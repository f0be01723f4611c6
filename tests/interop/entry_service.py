# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""entry_service.py FOLDER NAME NODE LOG - an entry in Python that keeps a log of its own, and
asks the Node service at NODE; prints where it listens. With another program as the server
(gunicorn entry_service:app) the words are in CPT_ENTRY. NODE is HOST:PORT; LOG "" is none: then
it is an inner service."""
import os
import socketserver
import sys
import time
import urllib.request
import wsgiref.simple_server

FOLDER, NAME, NODE, LOG = os.environ.get("CPT_ENTRY", "\t".join(sys.argv[1:])).split("\t")
sys.path.insert(0, FOLDER)
import cpt_trace  # noqa: E402


def answer(target):
    with cpt_trace.part("rank"):
        time.sleep(0.002)
    with urllib.request.urlopen("http://%s/ads" % NODE, timeout=60) as reply:
        reply.read()
    cpt_trace.attribute("arm", "B" if target.endswith("7") else "A")
    return ("500 No" if target.endswith("9") else "200 OK"), b"ok"


def plain(environ, start_response):
    status, body = answer(environ["PATH_INFO"])
    start_response(status, [("Content-Type", "text/plain"), ("Content-Length", "2")])
    return [body]


def flask_app():
    import flask

    one = flask.Flask(__name__)

    @one.get("/<path:target>")
    def get(target):
        status, body = answer(target)
        return body, int(status[:3])

    return one


cpt_trace.install()
options = {"log": cpt_trace.Log(LOG, share=0.5)} if LOG else {"role": "inner"}
service = cpt_trace.Service(NAME, callees={NODE: "node"}, method=lambda path: "/item", **options)
app = cpt_trace.WSGI(flask_app() if "CPT_ENTRY" in os.environ else plain, service)


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, app, Server, Quiet)
    print("listens on 127.0.0.1:%d" % server.server_port, flush=True)
    server.serve_forever()
