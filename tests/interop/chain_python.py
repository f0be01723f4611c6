# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""chain_python.py FOLDER HOST:PORT - service B of the chain: /search asks C: /ads, twice at
the same time and once more. It keeps connections, as a real server does. Prints where it
listens."""
import concurrent.futures
import os
import sys
import urllib.parse
import urllib.request

sys.path.insert(0, sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import cpt_trace  # noqa: E402
from wsgi_server import serve  # noqa: E402

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


cpt_trace.install()
SERVICE = cpt_trace.Service("B", trust=["127.0.0.0/8"], callees={AUTHORITY: "C"})
serve("B", cpt_trace.WSGI(app, SERVICE))
