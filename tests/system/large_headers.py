# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""large_headers.py HELPERS INTEROP PYTHON NODE COUNT [grpc] - replies with 0 to 7 KiB of
other headers

    client --> proxy --> entry --> proxy --> … --> leaf          random systems of 1 to 3 services

over HTTP behind five proxies at their defaults, and over gRPC, in C, Python and Node. Each of
COUNT requests is sent twice, untraced and traced: no request fails traced that passes untraced."""
import os
import random
import sys
import threading

import proxy_programs
from headed_services import Kinds, OverHttp, asks, new_nonce, nonce_of
from proxy_programs import Proxy

HELPERS, INTEROP, PYTHON, NODE, COUNT = sys.argv[1:6]
HAS_GRPC = sys.argv[6:] == ["grpc"]
COUNT = int(os.environ.get("CPT_TEST_REQUESTS", COUNT))
KINDS = Kinds(HELPERS, INTEROP, PYTHON, NODE)
OTHERS_MAX = 7 << 10
SMALL = 500  # so few bytes leave room for any path
THREADS = 4
try:
    import grpc
except ImportError:
    grpc = None


def some_heads(chance, hops):
    """How many bytes each service adds; often around the limits of nginx and of gRPC."""
    ways = [lambda: 0, lambda: chance.randrange(SMALL), lambda: chance.randrange(OTHERS_MAX),
            lambda: chance.randrange(1000, 4000)]
    return [chance.choice(ways)() for _ in range(hops)]


class OverGrpc:
    def __init__(self, port):
        self.channel = grpc.insecure_channel("127.0.0.1:%d" % port)
        self.stub = self.channel.unary_unary("/demo.Headed/Get")

    def get(self, n, heads, which, headers):
        try:
            reply, call = self.stub.with_call(("%d %s %s" % (n, heads, which)).encode(), timeout=60,
                                              metadata=list(headers.items()))
            path = dict(call.trailing_metadata()).get("critical-path-bin")
            return True, reply, path
        except grpc.RpcError as error:
            return False, "%s %s" % (error.code().name, error.details()), None

    def close(self):
        self.channel.close()


class System:
    """Services and what is between them; the client's way in is `port`."""

    def __init__(self, chance, is_grpc):
        self.hops = chance.randrange(1, 4)
        self.client = OverGrpc if is_grpc else OverHttp
        self.what = []
        self.port = None
        kinds = [kind for kind in KINDS.names if not is_grpc or kind != "Node"]
        for hop in reversed(range(self.hops)):
            # a single service is a leaf, which heeds each ask
            role = "leaf" if hop == self.hops - 1 else "hop" if hop else "entry"
            kind = chance.choice(kinds)
            name = "ABC"[hop]
            start = KINDS.start_grpc if is_grpc else KINDS.start
            self.port = start(kind, role, name, self.port)
            self.what.insert(0, kind)
            between = chance.choice(["", *GRPC_PROXIES] if is_grpc else PROXIES)
            if between:
                self.what.insert(0, between)
                self.port = Proxy(between, self.port, grpc=is_grpc).port

    def __str__(self):
        return ("gRPC " if self.client is OverGrpc else "HTTP ") + " -> ".join(self.what)


class Load(threading.Thread):
    def __init__(self, system, seed, count):
        super().__init__()
        self.system, self.chance, self.count = system, random.Random(seed), count
        self.passed = self.refused = self.with_path = self.on_edge = 0
        self.fault = None

    def run(self):
        client = self.system.client(self.system.port)
        try:
            for number in range(self.count):
                self.fault = self.one(client, number)
                if self.fault:
                    return
        except Exception as error:
            self.fault = repr(error)
        finally:
            client.close()

    def fails_only_traced(self, client, n, heads, which):
        """Whether it does so again and again. Where a reply just fits, the same request fails
        at times without an ask, too: frames of a connection's own stand before its head in
        the memory of nginx, when they come together."""
        return all(client.get(n, heads, "u%s-%d" % (which, again), {})[0]
                   and not client.get(n, heads, "t%s-%d" % (which, again), asks(new_nonce()))[0]
                   for again in range(5))

    def one(self, client, number):
        n = self.chance.choice([1, 60])
        sizes = some_heads(self.chance, self.system.hops)
        heads = "-".join(map(str, sizes))
        which = "%x-%d" % (id(self), number)
        if self.system.client is OverHttp:  # nginx that caches has the target beside the head
            which += "?" + "q" * self.chance.choice([0, 0, 150, 900])
        passes, _, path = client.get(n, heads, "u" + which, {})
        if path is not None:
            return "%s: a path for one who did not ask" % heads
        if not passes:
            self.refused += 1
            return None
        nonce = new_nonce()
        traced, came, path = client.get(n, heads, "t" + which, asks(nonce))
        self.passed += 1
        self.with_path += path is not None
        if not traced and self.fails_only_traced(client, n, heads, which):
            return "%s passes untraced, but not traced: %s" % (heads, came)
        if not traced:
            self.on_edge += 1
            return None
        if max(sizes) < SMALL and path is None:
            return "%s: no path, though there is room" % heads
        if path is not None and nonce_of(path) != nonce:
            return "%s: another nonce" % heads
        return None


def run(system, seed, count):
    loads = [Load(system, seed + number, count // THREADS) for number in range(THREADS)]
    for load in loads:
        load.start()
    for load in loads:
        load.join()
    for load in loads:
        if load.fault:
            sys.exit("FAIL: %s: %s" % (system, load.fault))
    passed, refused, paths, on_edge = (
        sum(getattr(load, name) for load in loads)
        for name in ("passed", "refused", "with_path", "on_edge"))
    print("%s: %d pass, traced or not, %d with a path; %d fail untraced, %d now and then" % (
        system, passed, paths, refused, on_edge), flush=True)
    if on_edge > 2 + count // 100:
        sys.exit("FAIL: %s: %d of %d fail now and then" % (system, on_edge, count))
    return passed, paths


PROXIES = proxy_programs.installed()
GRPC_PROXIES = [kind for kind in PROXIES if kind in ("nginx", "HAProxy")]


def main():
    seed = int(os.environ.get("CPT_TEST_SEED", random.SystemRandom().randrange(10**9)))
    print("CPT_TEST_SEED=%d" % seed, flush=True)
    chance = random.Random(seed)
    systems = 8 if COUNT < 3000 else 20
    passed = paths = 0
    for number in range(systems):
        is_grpc = number % 4 == 3 and grpc is not None and HAS_GRPC
        system = System(chance, is_grpc)
        some = run(system, chance.randrange(10**9), COUNT // systems)
        passed, paths = passed + some[0], paths + some[1]
        proxy_programs.stop()
        proxy_programs.running.clear()
    if passed < COUNT // 10 or paths < passed // 4:
        sys.exit("FAIL: only %d pass, %d with a path" % (passed, paths))
    print("all is well: %d requests" % passed)


main()
