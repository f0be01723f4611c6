# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""chain_all.py CPT HELPERS SERVICE MIDDLE PYTHON NODE INTEROP - one path through five kinds of
services and a proxy:

    client -> nginx -> A -gRPC-> M -gRPC-> C -> nginx -> d ---> N --> D
                       C        grpc++    C            Python  Node  C

Prints the path of one request, and what each hop says by itself: the sum of its path is the
time that it took. HELPERS is the folder of grpc_chain, SERVICE chain_service, MIDDLE the
program made from grpc_middle.cc."""
import base64
import http.client
import json
import os
import re
import subprocess
import sys
import time

CPT, HELPERS, SERVICE, MIDDLE, PYTHON, NODE, INTEROP = sys.argv[1:8]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))
from proxy_programs import Proxy, output, running, service, start  # noqa: E402

ASK = {"critical-path": "1;forced"}


def fail(*words):
    sys.exit("FAIL: " + " ".join(str(word) for word in words))


def grpc_port(name):
    """Of a service that prints "grpc PORT"."""
    end = time.monotonic() + 60
    while time.monotonic() < end and running[-1].poll() is None:
        found = re.search(r"^grpc (\d+)$", output(name), re.MULTILINE)
        if found:
            return int(found[1])
        time.sleep(0.02)
    sys.exit("%s does not start: %s" % (name, output(name)))


def by_http(port, target, body=None):
    one = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    one.request("POST" if body else "GET", target, body, ASK)
    answer = one.getresponse()
    answer.read()
    if answer.status != 200:
        fail(target, "answers", answer.status)
    one.close()
    return answer.headers["critical-path-bin"]


def by_grpc(port):
    """grpc_middle writes the path that came as bytes."""
    subprocess.run([MIDDLE, "call", "127.0.0.1:%d" % port, "asked-seven"], check=True,
                   stdout=subprocess.DEVNULL)
    with open("path.bin", "rb") as file:
        return base64.b64encode(file.read()).decode().rstrip("=")


def decoded(value):
    if value is None:
        fail("no path came")
    done = subprocess.run([CPT, "metadata", "--json", value], stdout=subprocess.PIPE, check=True)
    path = json.loads(done.stdout)
    path["total"] = sum(segment["duration_ns"] for segment in path["segments"])
    return path


def check_hop(what, value):
    path = decoded(value)
    print("%-26s %9.3f %9.3f %6d" % (what, path["server_elapsed_ns"] / 1e6, path["total"] / 1e6,
                                     len(path["segments"])))
    if path["total"] != path["server_elapsed_ns"]:
        fail(what, "does not add up")


def main():
    os.makedirs("logs-m", exist_ok=True)
    last = service("D", [SERVICE, "back", "--listen", "127.0.0.1:0"])
    stock = "127.0.0.1:%d" % last
    node = service("N", [NODE, os.path.join(HERE, "chain_node.js"), INTEROP + "/node", stock,
                         "127.0.0.1:1", "N"])
    leaf = service("d", [PYTHON, "-B", os.path.join(HERE, "chain_leaf.py"), INTEROP + "/python",
                         "127.0.0.1:%d" % node])
    inner = Proxy("nginx", leaf)
    start("C", [HELPERS + "/grpc_chain", "C", "--listen", "127.0.0.1:0", "--to",
                "d=http://127.0.0.1:%d" % inner.port])
    c = grpc_port("C")
    start("M", [MIDDLE, "serve", "127.0.0.1:%d" % c, "logs-m"])
    m = grpc_port("M")
    a = service("A", [HELPERS + "/grpc_chain", "A", "--listen", "127.0.0.1:0", "--trust",
                      "127.0.0.0/8", "--to", "m=127.0.0.1:%d" % m])
    outer = Proxy("nginx", a)
    by_http(outer.port, "/?warm")

    value = by_http(outer.port, "/?seven")
    frames = {frame for segment in decoded(value)["segments"] for frame in segment["stack"]}
    for frame in ("A: page", "M: /demo.Greeter/Hello", "C: stock", "d: rank", "N: item 7"):
        if frame not in frames:
            fail(frame, "is not on the path:", frames)
    subprocess.run([CPT, "metadata", value], check=True)
    print("\nhop, asked by itself           took ms   path ms  parts")
    check_hop("A: C, a task graph", by_http(a, "/?seven"))
    check_hop("M: grpc++", by_grpc(m))
    check_hop("C: C, a task graph", by_grpc(c))
    check_hop("d: Python", by_http(leaf, "/leaf", b"x"))
    check_hop("N: Node", by_http(node, "/ads?id=7"))
    check_hop("D: C, a task graph", by_http(last, "/stock?id=7"))
    check_hop("all of it, through nginx", value)


main()
