# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""proxies.py HELPERS CPT DOCUMENT - strangers in front of five proxies

An entry behind each, as it is after installation: asks of strangers are not heeded, and bodies
pass unchanged. The rules of DOCUMENT (docs/security.md) keep asks out, and paths in; no cache
hands a path to one who did not ask; and nginx asks, records and strips."""
import json
import os
import re
import subprocess
import sys

import http.client

import proxy_programs
from proxy_programs import Proxy, blocks, service

HELPERS, CPT, DOCUMENT = sys.argv[1:4]
TAGS = {"nginx": "nginx", "HAProxy": "haproxy", "Apache": "apache", "Varnish": "varnish",
        "Squid": "squid"}
ADDS_NO_HEADER = ("nginx", "HAProxy")
FORWARDED = {
    "nginx": "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
    "HAProxy": "option forwardfor",
}
ASK = {"critical-path": "1;forced"}
BODY = os.urandom(300000)


def fail(*words):
    sys.exit("FAIL: " + " ".join(str(word) for word in words))


def ask(port, path, body=None, headers=None):
    one = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    one.request("POST" if body else "GET", path, body, headers or {},
                encode_chunked="Transfer-Encoding" in (headers or {}))
    reply = one.getresponse()
    data = reply.read()
    one.close()
    return reply.status, data, reply.headers


def path_of(port, path, headers=ASK):
    """The header with the path, or None; the answer is right in any case."""
    status, data, head = ask(port, path, headers=headers)
    if status != 200:
        fail(path, "answers", status)
    return head["critical-path-bin"]


def counter(port, name):
    text = ask(port, "/cpt/counters")[1].decode()
    return int(re.search(r'"name":"%s","value":(\d+)' % name, text)[1])


def check_strangers(kinds):
    """An entry with the default options heeds none."""
    entry = service("entry", [HELPERS + "/entry_service"])
    proxies = [Proxy(kind, entry) for kind in kinds]
    for port in [entry] + [proxy.port for proxy in proxies]:
        if path_of(port, "/echo"):
            fail("a stranger reads the path")
        chunked = {"Transfer-Encoding": "chunked"}
        pieces = [BODY[i:i + 7000] for i in range(0, len(BODY), 7000)]
        if ask(port, "/echo", BODY)[1] != BODY:
            fail("another body, sent with its length")
        if ask(port, "/echo", iter(pieces), chunked)[1] != BODY:
            fail("another body, sent in chunks")
    if counter(entry, "refused_untrusted") != len(kinds) + 1:
        fail("refused asks are not counted")
    if counter(entry, "traced_by_ask") != 0:
        fail("an ask is heeded")


def check_forwarded(kinds):
    """One that is told to trust the loopback does not trust what a proxy says it forwards."""
    entry = service("trusting", [HELPERS + "/entry_service", "127.0.0.0/8"])
    if not path_of(entry, "/echo"):
        fail("a person on this machine gets no path")
    for proxy in [Proxy(kind, entry, FORWARDED.get(kind, "")) for kind in kinds]:
        if path_of(proxy.port, "/echo"):
            fail("a stranger reads the path through", proxy.kind)
    for proxy in [Proxy(kind, entry) for kind in kinds if kind in ADDS_NO_HEADER]:
        if not path_of(proxy.port, "/echo"):
            fail(proxy.kind, "says that it forwards: the document says that it does not")


def check_rules(kinds, entry):
    """`entry` gives paths to all who come; each rule of the document is enough."""
    strict = {(kind, rule): Proxy(kind, entry, blocks(DOCUMENT, TAGS[kind], rule))
              for kind in kinds for rule in ("asks", "paths")}
    for (kind, rule), proxy in strict.items():
        if path_of(proxy.port, "/8/%s-%s" % (rule, kind)):
            fail(kind, "passes a path in spite of the rule for", rule)
    print("rules hold: " + ", ".join(kinds), flush=True)


def check_caches(kinds, entry):
    """Without a rule a path passes; what one asked for is not for the next, who did not."""
    fresh = "Varnish" in kinds and Proxy("Varnish", entry, blocks(DOCUMENT, "varnish", "fresh"))
    for proxy in [Proxy(kind, entry) for kind in kinds]:
        first, twice = [path_of(proxy.port, "/8/cached-" + proxy.kind) for _ in range(2)]
        if not first or not twice:
            fail(proxy.kind, "passes no path without a rule")
        if path_of(proxy.port, "/8/cached-" + proxy.kind, {}):
            fail(proxy.kind, "gives a path to one who did not ask")
        print("%s: the second to ask gets %s path" % (
            proxy.kind, "the same" if first == twice else "another"), flush=True)
    if fresh:
        one, two = [path_of(fresh.port, "/8/fresh") for _ in range(2)]
        if not one or not two or one == two:
            fail("Varnish keeps paths in spite of the rule")


def check_record(line, record):
    """A record is what its line says, and its parts add up to what nginx took."""
    latency_ns = record["latency_ns"]
    if sum(segment["duration_ns"] for segment in record["segments"]) != latency_ns:
        fail("a sum is wrong:", record)
    if abs(latency_ns / 1e9 - line["latency"]) > 0.001:
        fail("the latency is not nginx's:", line["latency"], latency_ns)
    if record["service"] != "nginx" or record["probability"] != 0.1:
        fail("not as the line says:", record)
    if not any(name.startswith("A: ") for segment in record["segments"]
               for name in json.dumps(segment).split('"')):
        fail("a path without its service:", record)


def check_records(entry):
    """nginx asks for some, records their paths, and shows none."""
    if os.path.exists("paths.jsonl"):
        os.remove("paths.jsonl")
    nginx = Proxy("nginx", entry, blocks(DOCUMENT, "nginx", "records"),
                  blocks(DOCUMENT, "nginx-http", "records"))
    count = 200
    for i in range(count):
        if path_of(nginx.port, "/8/recorded-%d" % i, ASK if i % 2 else {}):
            fail("nginx shows a path that it asked for")
    with open("paths.jsonl") as log:
        lines = [json.loads(line) for line in log]
    if not 0 < len(lines) < count:
        fail("nginx recorded", len(lines), "of", count)
    subprocess.run([CPT, "import", "paths.jsonl", "-o", "paths.cptlog"], check=True)
    shown = subprocess.run([CPT, "log", "--json", "paths.cptlog"], stdout=subprocess.PIPE,
                           text=True, check=True).stdout
    records = [json.loads(line) for line in shown.splitlines()]
    if len(records) != len(lines):
        fail(len(lines), "lines are", len(records), "records")
    for line, record in zip(lines, records):
        check_record(line, record)
    print("nginx asked for and recorded the paths of %d of %d requests" % (len(lines), count))


def main():
    kinds = proxy_programs.installed()
    check_strangers(kinds)
    check_forwarded(kinds)
    b = service("b", [HELPERS + "/proxied", "B", "--listen", "127.0.0.1:0"])
    entry = service("a", [HELPERS + "/proxied", "A", "--listen", "127.0.0.1:0", "--trust",
                          "127.0.0.0/8", "--to", "b=http://127.0.0.1:%d" % b])
    check_rules(kinds, entry)
    check_caches(kinds, entry)
    if "nginx" in kinds:
        check_records(entry)
    print("all is well")


main()
