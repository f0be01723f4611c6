# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""proxy_headers.py HELPERS COUNT - paths beside other headers, through proxies at their defaults

    client --> proxy --> A, an entry --> a proxy of another kind --> B

The replies of A and B have 0 to 7 KiB of other headers each, few or many, and paths of any size;
targets are short and long, as nginx that caches keeps them in the memory of a head. COUNT
requests over all proxies are sent twice, with an ask and without: the status is the same, and
the body; a path never makes the headers longer than the least proxy takes. CPT_TEST_SEED
repeats a run."""
import http.client
import os
import random
import sys
import threading

import proxy_programs
from proxy_programs import Proxy, service

HELPERS, COUNT = sys.argv[1], int(sys.argv[2])
SIZES = [1, 8, 25, 60, 120, 250]
MOST = 7168
LEAST = 4096  # that a proxy takes: nginx
CACHING = "nginx that caches"
CLIENTS = 4
TRIES = 3


class Client:
    """A connection that is kept, and opened again when the proxy has closed it."""

    def __init__(self, port):
        self.port, self.connection = port, None

    def get(self, path, headers):
        for left in reversed(range(TRIES)):
            try:
                self.connection = self.connection or http.client.HTTPConnection(
                    "127.0.0.1", self.port, timeout=60)
                self.connection.request("GET", path, headers=headers)
                reply = self.connection.getresponse()
                return reply.status, reply.read(), reply.headers
            except http.client.IncompleteRead as failure:  # of a head that fills nginx's buffer
                self.connection = None
                return "cut", failure.partial, {}
            except (http.client.HTTPException, OSError):
                self.connection = None
                if not left:
                    raise
        return None


def other_bytes(draw):
    """Mostly around what the least proxy takes, where a path may be one too many."""
    return draw.choice([0, draw.randrange(MOST), draw.randrange(1000, 4096)])


def check(client, draw, number, counts):
    own, callees = other_bytes(draw), other_bytes(draw)
    line = draw.choice([1000, 1000, 100, 60])  # of 60, 4 KiB are more than Varnish takes
    path = "/%d/%s%s?a=%d&b=%d&line=%d" % (
        draw.choice(SIZES), number, "q" * draw.choice([0, 0, 200, 900]), own, callees, line)
    ask = "1;max=%d;forced" % draw.choice([2048, 2048, 4096, 300])
    plain = client.get(path.replace("?", "-plain?"), {})  # as long as the other
    traced = client.get(path.replace("?", "-asked?"), {"critical-path": ask})
    # B says in the body how it was asked
    if plain[0] != traced[0] or (plain[0] == 200 and len(traced[1]) < len(plain[1])):
        sys.exit("FAIL: %s: %s, with an ask %s: %s" % (path, plain[0], traced[0], traced[1][:200]))
    value = traced[2].get("critical-path-bin")
    head = sum(len(name) + len(text) + 4 for name, text in traced[2].items())
    if value and head > LEAST:
        sys.exit("FAIL: %s: headers of %d bytes, with a path" % (path, head))
    counts["asked"] += 1
    counts["failed"] += plain[0] != 200
    counts["paths"] += value is not None
    counts["long"] += value is not None and head > 3000


def load(proxy, count, seed, counts, failures):
    client, draw = Client(proxy.port), random.Random(seed)
    try:
        for i in range(count):
            check(client, draw, "%d-%d" % (seed, i), counts)
    except BaseException as failure:  # SystemExit, too: the main thread tells it
        failures.append("%s: %s, CPT_TEST_SEED=%d" % (proxy.kind, failure, seed))


def outer_of(kind, port):
    if kind != CACHING:
        return Proxy(kind, port)
    folder = os.path.abspath("kept")
    return Proxy("nginx", port, "proxy_cache z; proxy_cache_valid 200 10m;",
                 "proxy_cache_path %s keys_zone=z:1m;" % folder)


def main():
    kinds = proxy_programs.installed()
    outers = kinds + [CACHING] * ("nginx" in kinds)
    seed = int(os.environ.get("CPT_TEST_SEED", 0)) or random.randrange(1 << 30)
    b = service("b", [HELPERS + "/proxied", "B", "--listen", "127.0.0.1:0"])
    inners = [Proxy(kind, b) for kind in kinds]
    failures = []
    for i, kind in enumerate(outers):
        inner = inners[(i + 1) % len(inners)]
        a = service("a-" + kind.replace(" ", "-"), [
            HELPERS + "/proxied", "A", "--listen", "127.0.0.1:0", "--trust", "127.0.0.0/8",
            "--to", "b=http://127.0.0.1:%d" % inner.port])
        outer = outer_of(kind, a)
        each = max(COUNT // len(outers) // CLIENTS, 1)
        counts = [{"asked": 0, "failed": 0, "paths": 0, "long": 0} for _ in range(CLIENTS)]
        clients = [threading.Thread(target=load, args=(outer, each, seed + j, counts[j], failures))
                   for j in range(CLIENTS)]
        outer.port  # waits until it listens
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        total = {name: sum(part[name] for part in counts) for name in counts[0]}
        print("%s, then %s: %d asked, %d failed either way, %d paths, %d in nearly full heads" % (
            kind, inner.kind, total["asked"], total["failed"], total["paths"], total["long"]),
            flush=True)
        if failures:
            sys.exit("FAIL: " + failures[0])
        if total["paths"] == 0 or (each > 50 and total["long"] == 0):
            sys.exit("FAIL: no path")
    print("all is well")


main()
