# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""caches.py CPT HELPERS INTEROP PYTHON NODE ROUNDS - a caching proxy before every hop

    client --h1, h2--> cache --> A, an entry --> cache --> B

for each kind of cache and kinds of services in turn. Each has a count of the requests that it
answered in its body, so the client knows what came out of a cache. Then no path of an earlier
request may be taken: not by the client, not by A. And requests that are all traced have as many
answers out of caches as the same ones untraced."""
import http.client
import os
import random
import subprocess
import sys

import proxy_programs
from headed_services import Decoder, Kinds, asks, new_nonce, nonce_of, seen
from proxy_programs import Proxy

CPT, HELPERS, INTEROP, PYTHON, NODE, ROUNDS = sys.argv[1:7]
MODULES = "/usr/lib/apache2/modules/"
DECODER = Decoder(CPT)
CACHES = ["nginx", "Apache", "Varnish", "Squid"]
OVER_H2 = ["nginx", "Apache", "Varnish"]
HEADS = ["0c-0c", "0-0c", "0c-0", "1000c-1500c"]


def fail(*words):
    sys.exit("FAIL: " + " ".join(str(word) for word in words))


def cache(kind, upstream, is_h2=False):
    """A proxy that keeps what it may, otherwise at its defaults."""
    if kind == "nginx":
        zone = "zone%d" % Proxy.count
        return Proxy(kind, upstream, "proxy_cache %s;" % zone,
                     http="proxy_cache_path %s/%s keys_zone=%s:1m;" % (os.getcwd(), zone, zone),
                     h2=is_h2)
    if kind == "Apache":
        lines = "".join("LoadModule %s_module %smod_%s.so\n" % (name, MODULES, name)
                        for name in ["cache", "cache_socache", "socache_shmcb"])
        return Proxy(kind, upstream, lines + "CacheSocache shmcb\nCacheEnable socache /\n",
                     h2=is_h2)
    return Proxy(kind, upstream, h2=is_h2)


class OverH1:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def get(self, path, headers):
        self.connection.request("GET", path, headers=headers)
        reply = self.connection.getresponse()
        return reply.status, reply.read(), reply.headers["critical-path-bin"]


class OverH2:
    """By curl, without TLS: a connection for each request."""

    def __init__(self, port):
        self.port = port

    def get(self, path, headers):
        words = ["curl", "-s", "--max-time", "60", "--http2-prior-knowledge", "-D", "head.txt",
                 "-o", "body.txt", "http://127.0.0.1:%d%s" % (self.port, path)]
        for name, value in headers.items():
            words += ["-H", "%s: %s" % (name, value)]
        subprocess.run(words, check=True)
        with open("head.txt") as file:
            lines = file.read().splitlines()
        if not lines[0].startswith("HTTP/2 "):
            fail("not HTTP/2:", lines[0])
        path = [line.split(": ", 1)[1] for line in lines if line.startswith("critical-path-bin:")]
        with open("body.txt", "rb") as file:
            return int(lines[0].split()[1]), file.read(), path[0] if path else None


def has(segments, service):
    return any(frame.startswith(service + ": ") and "blind" not in frame
               for segment in segments for frame in segment["stack"])


class Run:
    """The requests of one system of services and caches."""

    def __init__(self, what, client, counts):
        self.what, self.client = what, client
        self.counts = counts  # of each service, the last one that was seen
        self.hits = {"A": 0, "B": 0}
        self.reasons = {"cached"}  # of blind spots in the place of B

    def fail(self, *words):
        fail(*self.what, ":", *words)

    def get(self, path, is_traced):
        nonce = new_nonce()
        status, body, value = self.client.get(path, asks(nonce) if is_traced else {})
        if status != 200:
            self.fail(path, "answers", status, "traced" if is_traced else "untraced", body)
        counts = seen(body)
        is_new = {name: count > self.counts.get(name, 0) for name, count in counts.items()}
        for name, count in counts.items():
            self.counts[name] = max(self.counts.get(name, 0), count)
            self.hits[name] += not is_new[name]
        if is_traced:
            self.check(value, nonce, is_new)
        elif value is not None and is_new["A"]:
            self.fail("a path for one who did not ask")

    def check(self, value, nonce, is_new):
        if not is_new["A"]:
            if value is not None and nonce_of(value) in (None, nonce):
                self.fail("a cache's path is taken for one of this request")
            return
        if value is None:
            self.fail("no path")
        segments = DECODER.segments(value)
        if not is_new["B"] and has(segments, "B"):
            self.fail("the path of another request is spliced:", segments)
        reasons = {segment["reason"] for segment in segments if segment["kind"] == "blind_spot"}
        if not is_new["B"] and reasons - self.reasons:
            self.fail("a blind spot with another reason:", segments)
        if is_new["B"] and not has(segments, "B"):
            self.fail("a path that belongs to its ask is left out:", segments)
        if nonce_of(value) != nonce:
            self.fail("a path without the nonce of its ask:", value)


def check(kind, is_h2, services, rounds, chance):
    what = (kind, "HTTP/2" if is_h2 else "HTTP/1", *services)
    b = KINDS.start(services[1], "leaf", "B")
    a = KINDS.start(services[0], "entry", "A", cache(kind, b).port)
    client = (OverH2 if is_h2 else OverH1)(cache(kind, a, is_h2).port)
    wanted = [(chance.choice(HEADS), chance.randrange(4)) for _ in range(rounds)]
    hits, counts = {}, {}
    for way in ("untraced", "traced"):
        run = Run(what, client, counts)
        for heads, which in wanted:
            run.get("/2/%s/%s-%d" % (heads, way, which), way == "traced")
        hits[way] = dict(run.hits)
    if hits["untraced"]["A"] == 0 or hits["untraced"]["B"] == 0:
        run.fail("nothing was kept:", hits)
    if hits["traced"] != hits["untraced"]:
        run.fail("another number of answers out of caches:", hits)
    # Both kinds of requests for the same: a reply to one who did not ask has no path, and
    # may be kept for all.
    run.reasons = {"cached", "unsupported"}
    for heads, which in wanted:
        run.get("/2/%s/both-%d" % (heads, which), chance.random() < 0.5)
    print("%-8s %s, %-6s -> %-6s: %d of %d requests from the cache before A, %d more before B" % (
        *what, hits["traced"]["A"], rounds, hits["traced"]["B"] - hits["traced"]["A"]), flush=True)


KINDS = Kinds(HELPERS, INTEROP, PYTHON, NODE)


def main():
    seed = int(os.environ.get("CPT_TEST_SEED", random.SystemRandom().randrange(10**9)))
    print("CPT_TEST_SEED=%d" % seed, flush=True)
    chance = random.Random(seed)
    number = 0
    for kind in proxy_programs.installed(CACHES):
        for is_h2 in [False, True][:1 + (kind in OVER_H2)]:
            names = KINDS.names
            pairs = [("C", "C"), (names[-1], names[number % len(names)]),
                     (names[number % len(names)], names[-1])]
            for services in dict.fromkeys(pairs):
                check(kind, is_h2, services, int(ROUNDS), chance)
            number += 1
            proxy_programs.stop()
            proxy_programs.running.clear()
    print("all is well")


main()
