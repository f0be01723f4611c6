# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""proxy_cache.py HELPERS CPT - paths that a cache has kept, which adds no Age

    client --> nginx with proxy_cache --> A, an entry --> another of that kind --> B

Each page is asked for several times. A never shows time of B that B did not spend for it: the
cache's path is a blind spot, reason cached, and counted. All requests traced get as many hits
as none traced."""
import http.client
import os
import shutil
import subprocess
import sys
import time

import proxy_programs
from proxy_programs import Proxy, service

HELPERS, CPT = sys.argv[1:]
PAGES, TIMES = 10, 5
CACHE = "proxy_cache %s; proxy_cache_valid 200 10m; access_log %s hits;"
CACHE_HTTP = ("proxy_cache_path %s keys_zone=%s:1m; "
              "log_format hits '$upstream_cache_status $request_uri';")


def fail(*words):
    sys.exit("FAIL: " + " ".join(str(word) for word in words))


def get(port, path, headers):
    one = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    one.request("GET", path, headers=headers)
    reply = one.getresponse()
    body = reply.read()
    one.close()
    if reply.status != 200:
        fail(path, reply.status, body)
    return body, reply.headers.get("critical-path-bin")


def shown(path):
    return subprocess.run([CPT, "metadata", path], text=True, stdout=subprocess.PIPE,
                          check=True).stdout


def caching(upstream, name):
    log = os.path.abspath(name + ".hits")
    folder = os.path.abspath(name + ".kept")
    shutil.rmtree(folder, ignore_errors=True)
    open(log, "w").close()
    return Proxy("nginx", upstream, CACHE % (name, log), CACHE_HTTP % (folder, name)), log


def hits(log, count):
    """Of @count requests; nginx tells of one when its answer may have been read already."""
    for _ in range(600):
        with open(log) as file:
            lines = file.read().splitlines()
        if len(lines) >= count:
            return sum(line.startswith("HIT") for line in lines)
        time.sleep(0.1)
    fail("the cache tells of", len(lines), "requests, not of", count)


def counted(port, name):
    body, _ = get(port, "/cpt/metrics", {})
    return sum(int(line.split()[-1]) for line in body.decode().splitlines()
               if line.startswith(name + "{"))


def main():
    proxy_programs.installed(("nginx",))
    b = service("b", [HELPERS + "/proxied", "B", "--listen", "127.0.0.1:0"])
    inner, inner_log = caching(b, "inner")
    a = service("a", [
        HELPERS + "/proxied", "A", "--listen", "127.0.0.1:0", "--trust", "127.0.0.0/8",
        "--counters", "--to", "b=http://127.0.0.1:%d" % inner.port])

    for _ in range(TIMES):
        for page in range(PAGES):
            get(a, "/25/plain-%d" % page, {})
    plain = hits(inner_log, TIMES * PAGES)
    stale_count = 0
    for round_ in range(TIMES):
        for page in range(PAGES):
            path = shown(get(a, "/25/traced-%d" % page, {"critical-path": "1;forced"})[1])
            if round_ == 0 and "(cached)" in path:
                fail("the first path of a page is not taken:", path)
            # b's reply may come before it is waited for: then b is on no path
            if round_ != 0 and ("B: " in path or "overcount" in path):
                fail("time of B that was spent for another:", path)
            stale_count += "(cached)" in path
    traced = hits(inner_log, 2 * TIMES * PAGES) - plain
    if not 0 < plain == traced:
        fail("hits without an ask", plain, "and with one", traced)
    told = counted(a, "cpt_callee_stale_paths_total")
    if stale_count == 0 or told != stale_count:
        fail("stale paths:", stale_count, "and the counter says", told)
    print("%d hits of %d, traced or not; %d stale paths, none of them shown" % (
        traced, PAGES * TIMES, stale_count))

    outer, outer_log = caching(a, "outer")
    for nonce in ("3b9aca00c0ffee11", "3b9aca00c0ffee12"):
        get(outer.port, "/8/outer", {"critical-path": "1;forced", "critical-path-nonce": nonce})
    if hits(outer_log, 2) != 1:
        fail("a request with another nonce is no hit")
    print("all is well")


main()
