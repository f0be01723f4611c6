# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""behind_proxies.py - what the services in Python and in Node are asked for behind proxies

A service answers /PARTS/BYTES, that many parts and bytes of other headers: behind nginx,
HAProxy, Apache, Varnish and Squid at their defaults no request fails traced that passes untraced,
and paths arrive that answer the ask."""
import base64
import contextlib
import os
import random
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import proxy_programs  # noqa: E402

# What a proxy with 512 bytes for others lets through beside a path.
ROOM = 2800
NONCE = "00000000000000ff"
NONCE_FIELD = b"\x99\x01\xff" + bytes(7)  # at the end of a path that answers it


def get(port, target, traced):
    """The status, and the paths as bytes."""
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, target))
    if traced:
        request.add_header("critical-path", "1;max=4096")
        request.add_header("critical-path-nonce", NONCE)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            values = answer.headers.get_all("critical-path-bin") or []
            return answer.status, [base64.b64decode(v + "=" * (-len(v) % 4)) for v in values]
    except urllib.error.HTTPError as error:
        error.close()
        return error.code, []


def try_proxies(port, requests, seed):
    """Asks the service at @port through each kind of proxy that is installed."""
    chances = random.Random(seed)
    proxies = [proxy_programs.Proxy(kind, port) for kind in proxy_programs.installed()]
    passed = paths = 0
    for _ in range(requests):
        proxy = chances.choice(proxies)
        query = "?%d" % chances.getrandbits(60)  # not from a cache
        bytes_count = chances.randrange(7169)
        target = "/%d/%d%s" % (chances.randrange(300), bytes_count, query)
        plain, _ = get(proxy.port, target + "u", False)
        traced, values = get(proxy.port, target + "t", True)
        what = (proxy.kind, target, plain, traced)
        if plain == 200 and traced != 200:
            raise AssertionError("fails traced: %r" % (what,))
        if plain == 200 and bytes_count < ROOM and not values[0].endswith(NONCE_FIELD):
            raise AssertionError("has no path of this ask: %r" % (what,))
        passed += plain == 200
        paths += len(values)
    print("%d requests, seed %d: %d pass untraced and traced, %d paths" % (
        requests, seed, passed, paths))


def caching(port):
    """nginx with a cache before @port, or None if it is not installed."""
    if "nginx" not in proxy_programs.installed():
        return None
    zone = "proxy_cache_path %s keys_zone=z:1m;" % os.path.abspath("cache")
    return proxy_programs.Proxy("nginx", port, "proxy_cache z;", zone)


@contextlib.contextmanager
def proxies():
    """In a folder of their own, until the end."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # proxies may run as another user
        os.chdir(folder)
        try:
            yield
        finally:
            proxy_programs.stop()
            os.chdir("/")
