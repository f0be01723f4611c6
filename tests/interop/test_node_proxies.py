# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""test_node_proxies.py NODE INTEROP [REQUESTS [SEED]] - a service in Node, inner role, behind
nginx, HAProxy, Apache, Varnish and Squid at their defaults, whose replies carry other headers
of any size: no request fails traced that passes untraced, and paths arrive. Then behind the
cache of nginx: no path of another request is taken."""
import os
import re
import sys
import time

from behind_proxies import caching, get, proxies, proxy_programs, try_proxies

NODE, INTEROP = sys.argv[1], os.path.abspath(sys.argv[2])
REQUESTS = int(sys.argv[3] if len(sys.argv) > 3 else 100)
SEED = int(sys.argv[4] if len(sys.argv) > 4 else 1)
HERE = os.path.dirname(os.path.abspath(__file__))


def serve(name, *words):
    """Starts proxied_node.js; its port."""
    program = os.path.join(HERE, "proxied_node.js")
    process = proxy_programs.start(name, [NODE, program, os.path.join(INTEROP, "node"), *words])
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"127\.0\.0\.1:(\d+)", proxy_programs.output(name))
        if found:
            return int(found[1])
        time.sleep(0.02)
    sys.exit("%s does not start: %s" % (name, proxy_programs.output(name)))


def try_cache(cache_port):
    """A service whose call goes through a cache asks again and again."""
    port = serve("caller", "127.0.0.1:%d" % cache_port)
    fresh = []
    for _ in range(3):
        status, (path,) = get(port, "/", True)
        if status != 200:
            raise AssertionError(status)
        fresh.append(b"a part with" in path)
    if fresh != [True, False, False]:
        raise AssertionError(fresh)
    print("behind a cache: the first path is taken, and no other")


def main():
    with proxies():
        port = serve("callee")
        try_proxies(port, REQUESTS, SEED)
        proxy = caching(port)
        if proxy is not None:
            try_cache(proxy.port)


if __name__ == "__main__":
    main()
