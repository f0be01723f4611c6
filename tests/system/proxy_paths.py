# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""proxy_paths.py HELPERS COUNT - paths of any size through five proxies at their defaults

    load --> proxy --> A, an entry --> another of that kind --> B          for each kind

COUNT requests over all of them: none fails, no budget is exceeded, each hop heeds the one
that came down. Then it prints where each proxy refuses, and what a larger budget needs."""
import http.client
import http.server
import subprocess
import sys
import threading

import proxy_programs
from proxy_programs import Proxy, service

HELPERS, COUNT = sys.argv[1], int(sys.argv[2])
BUDGETS = ["0", "2048", "1000", "100000", "300", "60"]
LARGEST = 1 << 18


def run_load(port, count, budgets):
    done = subprocess.run([HELPERS + "/proxied_load", str(port), str(count)] + budgets,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.strip()


class Origin(http.server.BaseHTTPRequestHandler):
    """Answers /N with a header of N bytes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("critical-path-bin", "A" * int(self.path[1:]))
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def answer(port, path, headers=None):
    one = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        one.request("GET", path, headers=headers or {})
        reply = one.getresponse()
        return reply.status, reply.read(), reply.headers
    except (http.client.HTTPException, OSError) as error:
        return type(error).__name__, b"", {}
    finally:
        one.close()


def refuses_at(port):
    """The largest header that passes whole, and what comes in its place beyond it."""
    low, high = 0, LARGEST
    http.client._MAXLINE = LARGEST * 2
    while low < high:
        size = (low + high + 1) // 2
        status, body, headers = answer(port, "/%d" % size)
        if status == 200 and body == b"ok" and len(headers["critical-path-bin"] or "") == size:
            low = size
        else:
            high = size - 1
    return low, answer(port, "/%d" % (low * 2))[0]


def main():
    kinds = proxy_programs.installed()
    b = service("b", [HELPERS + "/proxied", "B", "--listen", "127.0.0.1:0"])
    inners = [Proxy(kind, b) for kind in kinds]
    for kind, inner in zip(kinds, inners):
        a = service("a-" + kind, [
            HELPERS + "/proxied", "A", "--listen", "127.0.0.1:0", "--trust", "127.0.0.0/8",
            "--to", "b=http://127.0.0.1:%d" % inner.port])
        outer = Proxy(kind, a)
        code, said = run_load(outer.port, COUNT // len(kinds), BUDGETS)
        print("%s: %s" % (kind, said), flush=True)
        if code != 0:
            sys.exit("FAIL: a request through %s" % kind)

    origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    origin.handle_error = lambda *_: None  # a proxy that refuses closes the connection
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    print("the largest header of a path that passes, base64; beyond it the client sees:")
    proxies = [Proxy(kind, origin.server_port) for kind in kinds]
    for kind, proxy in zip(kinds, proxies):
        most, beyond = refuses_at(proxy.port)
        print("%-8s %6d bytes, a path of %6d; beyond: %s" % (kind, most, most * 3 // 4, beyond),
              flush=True)
        if most * 3 // 4 < 2048 + 300:
            sys.exit("FAIL: %s has no room for the default budget" % kind)
    check_larger(kinds)


def check_larger(kinds):
    """4,096 bytes, where services are told to: nginx needs a larger buffer, others do not."""
    large = service("b-large", [HELPERS + "/proxied", "B", "--large", "--listen", "127.0.0.1:0"])
    a = service("a-large", [
        HELPERS + "/proxied", "A", "--large", "--listen", "127.0.0.1:0",
        "--trust", "127.0.0.0/8", "--to", "b=http://127.0.0.1:%d" % large])

    def large_paths(proxy):
        """Status and bytes of answers. On a busy machine B may answer before A waits for it:
        then B is not on the path, which is short; so there are several."""
        for i in range(50):
            status, _, headers = answer(proxy.port, "/250/%d" % i,
                                        {"critical-path": "1;max=4096;forced"})
            yield status, len(headers.get("critical-path-bin") or "") * 3 // 4

    proxies = [Proxy(kind, a) for kind in kinds]
    for kind, proxy in zip(kinds, proxies):
        if kind == "nginx":
            if not any(status == 502 for status, _ in large_paths(proxy)):
                sys.exit("FAIL: nginx passes each path of up to 4,096 bytes")
        elif not any(status == 200 and size > 2048 for status, size in large_paths(proxy)):
            sys.exit("FAIL: %s passes no path of 4,096 bytes" % kind)
    if "nginx" in kinds:
        answers = []
        for status, size in large_paths(Proxy("nginx", a, "proxy_buffer_size 8k;")):
            answers.append((status, size))
            if status != 200 or size > 4096:
                sys.exit("FAIL: nginx with a larger buffer: %s, %d bytes" % (status, size))
            if size > 2048:
                break
        else:
            sys.exit("FAIL: nginx with a larger buffer: %s" % answers)
    print("a budget of 4,096 bytes, of services that are told so: nginx needs "
          "`proxy_buffer_size 8k;` for it, the others nothing")
    print("all is well")


main()
