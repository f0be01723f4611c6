# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""entry_lines.py CPT SOURCE PYTHON NODE - entries that log their paths, on real servers

    Python, by wsgiref   paths.jsonl --.
    Flask, by gunicorn   paths.jsonl --+--> cpt import --> records
    Node                 paths.jsonl --+
    nginx, before Python paths.jsonl --'

Each asks services behind it, also in Node. Of each line there is a record: its latency is that
of the line, its parts add up to it, and its other members are attributes. In the current
folder."""
import concurrent.futures
import gzip
import http.client
import importlib.util
import json
import os
import random
import subprocess
import sys
import time

CPT, SOURCE, PYTHON, NODE = sys.argv[1:5]
INTEROP = os.path.join(SOURCE, "examples/interop")
HERE = os.path.join(SOURCE, "tests/interop")
sys.path.insert(0, os.path.join(SOURCE, "tests/system"))
import proxy_programs  # noqa: E402
from proxy_programs import Proxy, blocks, service  # noqa: E402

REQUESTS = 120


def must(condition, *what):
    if not condition:
        raise AssertionError(what)


def get(port, target):
    one = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    one.request("GET", target)
    answer = one.getresponse()
    body = answer.read()
    must(answer.headers["critical-path-bin"] is None, "a client sees a path")
    one.close()
    return answer.status, body


def drive(port):
    """Requests at the same time; none fails that should not."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: get(port, "/item/%d" % (i % 10)), range(REQUESTS)))
    for i, (status, body) in enumerate(answers):
        must((status, body) == (500 if i % 10 == 9 else 200, b"ok"), i, status, body)


def lines_of(name):
    """The lines of a file, once no more come."""
    size = -1
    while not os.path.exists(name) or os.path.getsize(name) != size:
        size = os.path.getsize(name) if os.path.exists(name) else -1
        time.sleep(0.5)
    with open(name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def imported(words, data=None):
    """The records of the log that `cpt import` makes."""
    subprocess.run([CPT, "import", "-o", "x.cptlog"] + words, input=data, check=True)
    out = subprocess.run([CPT, "log", "--json", "x.cptlog"], stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in out.stdout.splitlines()]


def check(name, entry, share, parts):
    """Each line of the file is a record."""
    lines = lines_of(name)
    records = imported([name])
    must(0 < len(lines) < REQUESTS and len(records) == len(lines), len(lines), len(records))
    stacks = set()
    for line, record in zip(lines, records):
        latency_ns = record["latency_ns"]
        segments = record["segments"]
        must(sum(segment["duration_ns"] for segment in segments) == latency_ns, record)
        # nginx rounds: then the path may be a millisecond longer
        is_exact = round(line["latency"] * 1e9) == latency_ns
        must(is_exact or 0 < latency_ns - line["latency"] * 1e9 <= 1e6, line, record)
        must(record["service"] == entry and record["status"] == str(line["status"]), record)
        must(record["probability"] == share, record)
        must(record["failed"] == (record["status"] == "500"), record)
        began = line.get("time", line.get("end", 0) - line["latency"])
        must(abs(record["start_unix_ns"] / 1e9 - began) < 2e-6, line, record)
        for key in ("arm", "region", "request_id"):
            must(record["meta"].get(key) == line.get(key), key, record)
        stacks.update(";".join(segment["stack"]) for segment in segments)
    for part in parts:
        must(any(part in stack for stack in stacks), part, stacks)
    print("%s: %d of %d requests" % (name, len(lines), REQUESTS), flush=True)
    return lines, records


def check_forms(name, lines, records):
    """Compressed, from standard input, in any order: the same records."""
    with open(name, "rb") as file:
        data = file.read()
    must(imported(["-"], gzip.compress(data)) == records)
    pairs = list(zip(data.splitlines(keepends=True), records))
    random.Random(7).shuffle(pairs)
    with open("shuffled.jsonl", "wb") as file:
        file.write(b"".join(line for line, _ in pairs))
    must(imported(["shuffled.jsonl"]) == [record for _, record in pairs])
    out = subprocess.run([CPT, "report", "--json", name], stdout=subprocess.PIPE, check=True)
    must(json.loads(out.stdout)["requests"] == len(lines), out.stdout[:300])


def python(name, node, log):
    words = [os.path.join(INTEROP, "python"), name, "127.0.0.1:%d" % node, log]
    return service(name, [PYTHON, "-B", os.path.join(HERE, "entry_service.py")] + words)


def gunicorn(node, log):
    words = [os.path.join(INTEROP, "python"), "flask", "127.0.0.1:%d" % node, log]
    environ = dict(os.environ, CPT_ENTRY="\t".join(words), PYTHONDONTWRITEBYTECODE="1")
    process = proxy_programs.start("gunicorn", [
        PYTHON, "-m", "gunicorn", "--chdir", HERE, "--workers", "2", "--threads", "4",
        "--bind", "127.0.0.1:0", "entry_service:app"], env=environ)
    end = time.monotonic() + 60
    while "Listening at" not in proxy_programs.output("gunicorn"):
        must(time.monotonic() < end and process.poll() is None,
             proxy_programs.output("gunicorn"))
        time.sleep(0.05)
    said = proxy_programs.output("gunicorn").split("127.0.0.1:")[1]
    return int(said.split()[0])


def main():
    node_words = [NODE, os.path.join(HERE, "entry_service.js"), os.path.join(INTEROP, "node")]
    node = service("node", node_words + ["node"])
    drive(python("python", node, "python.jsonl"))
    parts = ("python: /item;python: rank", "node: /ads;node: choose")
    check_forms("python.jsonl", *check("python.jsonl", "python", 0.5, parts))
    drive(service("front", node_words + ["front", "node.jsonl"]))
    check("node.jsonl", "front", 0.5, ("front: /ads;front: choose",))
    missing = [name for name in ("flask", "gunicorn") if importlib.util.find_spec(name) is None]
    if missing:
        print("skipped: %s is not installed" % " and ".join(missing))
    else:
        drive(gunicorn(node, os.path.abspath("flask.jsonl")))
        check("flask.jsonl", "flask", 0.5, ("flask: /item;flask: rank", "node: choose"))
    if proxy_programs.program("nginx") is None:
        print("skipped: nginx is not installed")
        return
    document = os.path.join(SOURCE, "docs/security.md")
    rules = blocks(document, "nginx-http", "records").replace("10%", "50%").replace(
        '"probability":0.1', '"probability":0.5')
    drive(Proxy("nginx", python("inner", node, ""), blocks(document, "nginx", "records"),
                rules).port)
    check("paths.jsonl", "nginx", 0.5, ("nginx: GET;inner: /item;inner: rank", "node: choose"))


main()
