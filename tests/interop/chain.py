# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""chain.py CPT SERVICE PYTHON NODE INTEROP [CURL] - one path through four services

    A, C  -->  B, Python  -->  C, Node  -->  D, C          each over HTTP, as a process

and E in the place of D, whose answers carry hostile headers. At every hop the path adds up
to the time that the service says it took; requests at the same time stay apart; failures,
hostile answers and clients that leave change no answer. CURL is a program that calls B
with libcurl, to be tried, too."""
import base64
import concurrent.futures
import http.client
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import threading

CPT, SERVICE, PYTHON, NODE, INTEROP = sys.argv[1:6]
HERE = os.path.dirname(os.path.abspath(__file__))
ASK = "1;max=4096"
processes = []


def start(name, words):
    """Starts a service; where it listens."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    processes.append(process)
    line = process.stdout.readline()
    if not line.startswith(name + " listens on "):
        sys.exit("%s did not start: %r" % (name, line))
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return line.split()[-1]


# Values of the header that are not base64, beside the forms that callees of services in C
# send; but Python's http.client takes 100 headers at most.
sys.path.insert(0, os.path.join(HERE, "..", "system"))
from hostile_paths import HOSTILE as FORMS  # noqa: E402

HOSTILE = [["!"], ["A"], [""], ["A" * 7000]] + [
    [base64.b64encode(value).decode().rstrip("=") for value in values] for _, values in FORMS[::3]
    if len(values) < 50
]


CONTEXTS = []  # what came with each request
OTHERS = []  # baggage and B3 of those for /others
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-"


class Evil(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        item = self.path.rpartition("evil-")[2]
        CONTEXTS.append([self.headers.get_all(name) for name in
                         ("critical-path", "traceparent", "tracestate")])
        if self.path == "/context":
            item = "0"
        if self.path == "/others":
            OTHERS.append([self.headers.get_all(name) for name in
                           ("baggage", "b3", "x-b3-traceid")])
            item = "0"
        self.send_response(200)
        if "critical-path" in self.headers:
            for value in HOSTILE[int(item) % len(HOSTILE)]:
                self.send_header("critical-path-bin", value)
        self.send_header("Content-Length", "1")
        self.end_headers()
        self.wfile.write(b"E")

    def log_message(self, *_):
        pass


def get(authority, target, connection=None, **headers):
    """(status, body, the header with the path or None)"""
    one = connection or http.client.HTTPConnection(authority, timeout=120)
    one.request("GET", target, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = one.getresponse()
    body = answer.read().decode()
    values = answer.headers.get_all("critical-path-bin") or []
    if connection is None:
        one.close()
    assert len(values) <= 1, values
    return answer.status, body, values[0] if values else None


def path_of(value):
    """The path in a header, checked: it adds up to what the service says that it took."""
    assert value is not None, "no path came"
    out = subprocess.run([CPT, "metadata", "--json", value], stdout=subprocess.PIPE, check=True)
    path = json.loads(out.stdout)
    total = sum(segment["duration_ns"] for segment in path["segments"])
    assert total == path["sum_ns"] == path["server_elapsed_ns"], path
    return path


def stacks_of(value):
    return [";".join(segment["stack"]) for segment in path_of(value)["segments"]]


def must(condition, *what):
    if not condition:
        raise AssertionError(what)


def check_one_path(services):
    a = services["A"]
    status, body, value = get(a, "/page?7", critical_path=ASK + ";forced")
    d = "C(D(id=7))"
    must((status, body) == (200, "A(B(%s,%s,%s))" % (d, d, d)), status, body)
    whole = "A: /;A: search;B: /search;B: item 7;C: /ads;C: item 7;D: /stock;D: count"
    stacks = stacks_of(value)
    must(any(stack.endswith(whole[5:]) for stack in stacks), stacks)
    print("one path:")
    subprocess.run([CPT, "metadata", value], check=True)


def check_every_hop(services):
    for name, target in (("A", "/page?8"), ("B", "/search?id=8"), ("C", "/ads?id=8"),
                         ("D", "/stock?id=8")):
        for budget in (4096, 600, 200, 100, 40):
            ask = "1;max=%d" % budget + (";forced" if name == "A" else "")
            status, _, value = get(services[name], target, critical_path=ask)
            must(status == 200 and len(value) <= (budget * 4 + 2) // 3, name, budget)
            path_of(value)
        must(get(services[name], target)[2] is None, name, "unasked")
        must(get(services[name], target, critical_path="x")[2] is None, name)
    for name, target in (("B", "/search?id=8"), ("C", "/ads?id=8")):
        proxied = get(services[name], target, critical_path=ASK, x_forwarded_for="1.2.3.4")
        must(proxied[2] is None, name, "through a proxy")


def check_together(services):
    def run(i):
        _, body, value = get(services["A"], "/page?p%d" % i, critical_path=ASK + ";forced")
        return body, stacks_of(value)

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        for i, (body, stacks) in enumerate(pool.map(run, range(20))):
            must(body.count("D(id=p%d)" % i) == 3, body)
            items = {part for stack in stacks for part in stack.split(";") if ": item" in part}
            must(items == {"B: item p%d" % i, "C: item p%d" % i}, items)


def check_failures(services):
    for item in ("fails-b", "fails-c"):
        for name, target in (("A", "/page?%s"), ("B", "/search?id=%s"), ("C", "/ads?id=%s")):
            plain = get(services[name], target % item)
            traced = get(services[name], target % item, critical_path=ASK + ";forced")
            must(plain[:2] == traced[:2], plain, traced)
            if traced[2] is not None:
                path_of(traced[2])


def check_hostile(services):
    for i in range(len(HOSTILE)):
        for name, target in (("A", "/page?evil-%d"), ("B", "/search?id=evil-%d"),
                             ("C", "/ads?id=evil-%d")):
            plain = get(services[name], target % i)
            traced = get(services[name], target % i, critical_path=ASK + ";forced")
            must(plain[:2] == traced[:2] and plain[0] == 200, plain, traced)
            path_of(traced[2])


def check_leaving(services):
    for _ in range(5):
        for name, target in (("A", "/page?9"), ("B", "/search?id=9"), ("C", "/ads?id=9")):
            host, port = services[name].split(":")
            with socket.create_connection((host, int(port))) as one:
                head = "GET %s HTTP/1.1\r\nHost: x\r\ncritical-path: %s;forced\r\n\r\n"
                one.sendall((head % (target, ASK)).encode())
    check_every_hop(services)


def check_kept_connections(services):
    for name, target in (("B", "/search?id=k"), ("C", "/ads?id=k")):
        one = http.client.HTTPConnection(services[name], timeout=120)
        for i in range(6):
            headers = {} if i % 2 else {"critical_path": ASK}
            _, body, value = get(None, target, one, **headers)
            must("D(id=k)" in body and (value is None) == bool(headers == {}), body, value)
            if value is not None:
                path_of(value)
        one.close()


def check_contexts(services):
    """What comes in goes out, by Python and then by Node, traced and not."""
    short = ["k%d=%s" % (i, "v" * 20) for i in range(25)]
    made = "00-[0-9a-f]{32}-[0-9a-f]{16}-0[23]"
    for parents, states, parent, state in (
        ([PARENT + "05"], ["a=1 , b=2"], PARENT + "05", ["a=1 , b=2"]),
        ([PARENT + "01"], ["a=1", "b=2"], PARENT + "01", ["a=1,b=2"]),
        ([PARENT + "00"], ["a=1,="], PARENT + "00", None),
        ([PARENT + "00"], ["a=1"] * 33, PARENT + "00", None),
        ([PARENT + "00"], ["A=1"], PARENT + "00", None),
        ([PARENT + "00"], [], PARENT + "00", None),
        ([PARENT + "00"], ["l=" + "x" * 200, ",".join(short)], PARENT + "00",
         [",".join(short[:20])]),
        (["01" + PARENT[2:] + "07-more"], ["a=1"], PARENT + "03", ["a=1"]),
        ([PARENT + "07-more"], ["a=1"], made, None),
        (["ff" + PARENT[2:] + "00"], ["a=1"], made, None),
        (["00-" + "0" * 32 + PARENT[35:] + "00"], ["a=1"], made, None),
        ([PARENT + "00", PARENT + "00"], ["a=1"], made, None),
        ([], ["a=1"], made, None),
    ):
        for name, target in (("B", "/search?id=evil-0"), ("C", "/ads?id=evil-0")):
            for ask in ([], [ASK]):
                CONTEXTS.clear()
                one = http.client.HTTPConnection(services[name], timeout=120)
                one.putrequest("GET", target)
                for header, values in (("critical-path", ask), ("TraceParent", parents),
                                       ("tracestate", states)):
                    for value in values:
                        one.putheader(header, value)
                one.endheaders()
                must(one.getresponse().read().endswith(b")"), "no answer")
                one.close()
                must(len(CONTEXTS) == (3 if name == "B" else 1), CONTEXTS)
                for asked, parent_got, state_got in CONTEXTS:
                    must((asked is not None) == bool(ask), asked)
                    must(len(parent_got) == 1 and re.fullmatch(parent, parent_got[0]),
                         name, parents, parent_got)
                    must(parent != made or parent_got[0][3:35] not in str(parents), parent_got)
                    must(state_got == state, name, states, state_got)


def check_curl(services, program, evil):
    CONTEXTS.clear()
    out = subprocess.run([program, "http://" + services["B"], "http://" + evil],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    must("F: /;F: ask;B: /search;B: item curl;C: /ads" in out, out)
    print(out.rstrip().splitlines()[-1])
    ask, parent = ["1;max=4096;drag"], PARENT
    made = CONTEXTS[3][1][0]
    kept = [found[0][0] for found in CONTEXTS[5:7]]
    must(len(set(kept)) == 2 and all(re.fullmatch('1;max=2048;graph="[0-9a-f]{16}"', one) for one in kept), kept)
    must(CONTEXTS[:5] == [[ask, [parent + "05"], ["a=1 , b=2"]], [None, [parent + "05"], ["a=1 , b=2"]],
                      [ask, [parent + "01"], None], [None, [made], None],
                      [ask, [parent + "00"], None]], CONTEXTS)
    large = "a=" + "1" * 8190
    must(OTHERS == [[["a=1,b=2"], None, ["f"]], [[large], None, None], [["own=1"], None, ["f"]],
                    [["a=1"], ["0"], None], [None, None, None]], OTHERS)
    must(re.fullmatch("00-[0-9a-f]{32}-[0-9a-f]{16}-02", made) and parent[3:35] not in made, made)


def main():
    evil = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    evil.daemon_threads = True
    threading.Thread(target=evil.serve_forever, daemon=True).start()
    services = {}
    services["D"] = start("D", [SERVICE, "back", "--listen", "127.0.0.1:0"])
    services["C"] = start("C", [NODE, os.path.join(HERE, "chain_node.js"), INTEROP + "/node",
                                services["D"], "127.0.0.1:%d" % evil.server_port])
    services["B"] = start("B", [PYTHON, "-B", os.path.join(HERE, "chain_python.py"),
                                INTEROP + "/python", services["C"]])
    services["A"] = start("A", [SERVICE, "front", "--listen", "127.0.0.1:0", "--to",
                                "B=http://" + services["B"], "--trust", "127.0.0.0/8"])
    for check in (check_one_path, check_every_hop, check_together, check_failures,
                  check_hostile, check_leaving, check_kept_connections, check_contexts):
        check(services)
        print(check.__name__ + ": yes", flush=True)
    if len(sys.argv) > 6:
        check_curl(services, sys.argv[6], "127.0.0.1:%d" % evil.server_port)
        print("check_curl: yes")
    for process in processes:
        must(process.poll() is None, process.args, "ended")


try:
    main()
finally:
    for process in processes:
        process.kill()
