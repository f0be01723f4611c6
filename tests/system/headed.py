# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""headed.py FOLDER NAME entry|hop|leaf [HOST:PORT] - headed.c in Python, with FOLDER's
cpt_trace.py: a WSGI service whose replies carry other headers, and connections that are kept."""
import itertools
import os
import sys
import time
import urllib.request

FOLDER, NAME, ROLE = sys.argv[1:4]
NEXT = sys.argv[4] if len(sys.argv) > 4 else None
sys.path.insert(0, FOLDER)
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import cpt_trace  # noqa: E402
from wsgi_server import serve  # noqa: E402

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


cpt_trace.install()
SERVICE = cpt_trace.Service(NAME, role="entry" if ROLE == "entry" else "inner",
                            trust=["127.0.0.0/8"], trusts_forwarded=True,
                            callees={NEXT: "next"} if NEXT else {})
serve(NAME, cpt_trace.WSGI(app, SERVICE), "502 Failed")
