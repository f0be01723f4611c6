# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""A Python service, inner role, behind nginx, HAProxy, Apache, Varnish and Squid at their
defaults, whose replies carry other headers of any size: no request fails traced that passes
untraced, and paths arrive. Then behind the cache of nginx: no path of another request is
taken. CPT_TEST_REQUESTS says how many; CPT_TEST_SEED which."""
import os
import re
import socketserver
import urllib.request
import wsgiref.simple_server

from behind_proxies import caching, proxies, try_proxies
from python_support import ASK, cpt_trace, header_of, serve, text, wsgi_call

REQUESTS = int(os.environ.get("CPT_TEST_REQUESTS", "100"))
SEED = int(os.environ.get("CPT_TEST_SEED", "1"))


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    request_queue_size = 128


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


def app(environ, start_response):
    """/PARTS/BYTES: the number of parts, and of bytes of other headers."""
    numbers = re.fullmatch("/([0-9]+)/([0-9]+)", environ["PATH_INFO"])
    if numbers is None:  # of Squid itself
        start_response("404 Not Found", [])
        return [b""]
    parts, bytes_count = int(numbers[1]), int(numbers[2])
    for i in range(parts):
        with cpt_trace.part("a part with a long name %d" % i):
            sum(range(20))
    others = [("X-%d" % i, "x" * min(900, bytes_count - i)) for i in range(0, bytes_count, 900)]
    start_response("200 OK", [("Content-Length", "2"), ("Cache-Control", "max-age=60")] + others)
    return [b"ok"]


def try_cache(port):
    """A service whose call goes through a cache asks twice."""
    authority = "127.0.0.1:%d" % port
    service = cpt_trace.Service("S", role="inner", callees={authority: "B"})

    def caller(environ, start_response):
        urllib.request.urlopen("http://%s/3/10" % authority, timeout=120).read()
        start_response("200 OK", [])
        return [b""]

    cpt_trace.install()
    paths = []
    for _ in range(3):
        headers = wsgi_call(cpt_trace.WSGI(caller, service), HTTP_CRITICAL_PATH=ASK)[1]
        paths.append(text(cpt_trace.decode_header(header_of(headers))[0]))
    cpt_trace.uninstall()
    fresh = ["a part with" in path for path in paths]
    cached = [";‹4›" in path and "r6" in path for path in paths]
    if (fresh, cached) != ([True, False, False], [False, True, True]):
        raise AssertionError(paths)
    if service.counters["replies_stale"] != 2:
        raise AssertionError(service.counters)
    print("behind a cache: the first path is taken, and no other")


def main():
    service = cpt_trace.Service("B", role="inner", bytes_max=4096)
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, None, Server, Quiet)
    server.set_app(cpt_trace.WSGI(app, service))
    serve(server)
    with proxies():
        try_proxies(server.server_port, REQUESTS, SEED)
        proxy = caching(server.server_port)
        if proxy is not None:
            try_cache(proxy.port)
    server.shutdown()
    server.server_close()


if __name__ == "__main__":
    main()
