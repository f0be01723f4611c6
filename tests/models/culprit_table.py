# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
culprit_table.py CPT MICROSERVICES [--systems N] [--first I] [--check FILE] [ROW ...]

What `cpt culprit` says of simulated systems with a known fault: a table of kinds of
fault and verdicts, or, with --structure, of changes of structure. With --check the rows must be in FILE (docs/culprit.md) as they are.
Only the standard library is needed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

LOW = dict(rate=5)
SERVER = dict(rate=5, clients=0)
HOSTS = dict(rate=5, hosts=1)
RECORDS = dict(rate=5, records=1)

# name: what the base has, what the new set has, and the options of cpt culprit
ROWS = {
    "CPU ×1.5": (LOW, dict(LOW, fault="cpu", factor=1.5)),
    "one tenant of five ×5": (LOW, dict(LOW, fault="tenant", factor=5)),
    "5 % of requests ×10": (LOW, dict(LOW, fault="some", share=.05, factor=10)),
    "1 % of steps + 200 ms": (LOW, dict(LOW, fault="tail", share=.01, delay_ms=200)),
    "one replica of three ×4": (LOW, dict(LOW, fault="replica", factor=4)),
    "one operation ×4": (LOW, dict(LOW, fault="operation", factor=4)),
    "network + 2 ms": (LOW, dict(LOW, fault="network", delay_ms=2)),
    "server spans, network + 20 ms": (SERVER, dict(SERVER, fault="network", delay_ms=20)),
    "+ 50 ms, 20 requests/s": (dict(rate=20), dict(rate=20, fault="delay", delay_ms=50)),
    "+ 50 ms, 40 requests/s": (dict(rate=40), dict(rate=40, fault="delay", delay_ms=50)),
    "one operation ×4, by operation": (LOW, dict(LOW, fault="operation", factor=4)),
    "no fault, by operation": (LOW, LOW),
    "one replica of three ×4, by replica": (HOSTS, dict(HOSTS, fault="replica", factor=4)),
    "no fault, by replica": (HOSTS, HOSTS),
    "one tenant of five ×5, by tenant": (RECORDS, dict(RECORDS, fault="tenant", factor=5)),
    "no fault, by tenant": (RECORDS, RECORDS),
    "no fault": (LOW, LOW),
    "no fault, load ×1.5": (LOW, dict(rate=7.5)),
    "no fault, another mix": (LOW, dict(LOW, mix=5)),
    "no fault, cold caches": (LOW, dict(LOW, cache=0)),
    "no fault, 30 requests": (LOW, dict(LOW, requests=30)),
    "no fault, a tenth kept": (dict(LOW, requests=1000),
                               dict(LOW, requests=3000, keep=.1)),
}

# what is looked for, if it is no service, who is at fault then, and options of cpt import
BY = {
    "by operation": ("operation", "{service}: {operation}", ()),
    "by replica": ("replica", "{service}@{service}-0", ("--visits",)),
    "by tenant": ("attribute:tenant", "t0", ()),
}

# named: among those that are sure, or of "either"; wrong: sure of one without a fault
COLUMNS = ("first", "named", "sure", "wrong_first", "wrong", "either", "unsure", "none")

# name: what both sets have, what the new set has besides, and which kinds are right
STRUCTURE = {
    "a call is dropped": ({}, dict(fault="drops"), ("call_vanished", "calls_fewer")),
    "a call is added": ({}, dict(fault="adds"), ("call_new", "calls_more")),
    "two calls are serialised": ({}, dict(fault="serial"), ("order",)),
    "an operation fails in 20 %": ({}, dict(fault="fails", share=.2), ("failures",)),
    "a call is dropped, 100 requests": (dict(requests=100), dict(fault="drops"),
                                        ("call_vanished", "calls_fewer")),
    "two calls are serialised, server spans": (dict(clients=0), dict(fault="serial"),
                                               ("order",)),
    "no change": ({}, {}, ()),
    "no change, another mix": ({}, dict(mix=5), ()),
    "no change, CPU ×1.5": ({}, dict(fault="cpu", factor=1.5), ()),
    "no change, + 50 ms": ({}, dict(fault="delay", delay_ms=50), ()),
    "no change, server spans, + 50 ms": (dict(clients=0),
                                         dict(fault="delay", delay_ms=50), ()),
    "no change, server spans, network + 20 ms": (dict(clients=0),
                                                 dict(fault="network", delay_ms=20), ()),
}
STRUCTURE_COLUMNS = ("first", "others", "none")  # right in front; with others; no row


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True,
                          text=True).stdout


def simulate(options, folder, number, side, settings, *import_options):
    """A set of requests, as paths. Its name, and the service and operation at fault."""
    name = os.path.join(folder, "%d%s" % (number, side))
    words = dict(system=number, run=2 * number + (side == "b"), place=number)
    if side == "b":
        words["start"] = 86400
    words.update(settings)
    truth = run(options.microservices, *("%s=%s" % word for word in words.items()),
                "out=%s.json" % name).split()
    if "records" in settings:
        return name + ".json", dict(zip(("service", "operation"), truth))
    run(options.cpt, "import", *import_options, name + ".json", "-o", name + ".cptlog")
    os.remove(name + ".json")
    return name + ".cptlog", dict(zip(("service", "operation"), truth))


def judge(options, row, number):
    by, form, imports = BY.get(row.split(", ")[-1], ("service", "{service}", ()))
    with tempfile.TemporaryDirectory() as folder:
        base, _ = simulate(options, folder, number, "a", ROWS[row][0], *imports)
        new, truth = simulate(options, folder, number, "b", ROWS[row][1], *imports)
        answer = json.loads(run(options.cpt, "culprit", "--json", "--by", by, base, new))
    truth = form.format(**truth) if "fault" in ROWS[row][1] else None
    named = [s["service"] for s in answer["services"] if s["culprit"]]
    first = answer["services"][0]["service"] if answer["services"] else None
    return answer["verdict"], first == truth, named, truth, truth in named or any(
        truth in name.split(" -> ") for name in answer.get("either", ()))


def judge_structure(options, row, number):
    """Which of STRUCTURE_COLUMNS are true."""
    both, new, kinds = STRUCTURE[row]
    with tempfile.TemporaryDirectory() as folder:
        base, _ = simulate(options, folder, number, "a", dict(LOW, **both), "--visits")
        new, truth = simulate(options, folder, number, "b", dict(LOW, **both, **new),
                              "--visits")
        rows = json.loads(run(options.cpt, "culprit", "--json", base, new))["structure"]
    truth = truth["service"]
    services = [row["parent"].split(":")[0] for row in rows]
    return dict(first=bool(rows) and services[0] == truth and rows[0]["kind"] in kinds,
                others=any(s != truth or not kinds for s in services), none=not rows)


def structure_line(options, row, systems):
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda number: judge_structure(options, row, number),
                                systems))
    return "| %s | %s |" % (row, " | ".join(
        "%d" % sum(answer[name] for answer in answers) for name in STRUCTURE_COLUMNS))


def line(options, row, systems):
    counts = dict.fromkeys(COLUMNS, 0)
    with ThreadPoolExecutor(2) as pool:
        for verdict, is_first, named, truth, is_named in pool.map(
                lambda number: judge(options, row, number), systems):
            counts[verdict] += 1
            counts["first"] += is_first
            counts["named"] += is_named
            counts["wrong"] += verdict == "sure" and any(n != truth for n in named)
            counts["wrong_first"] += verdict == "sure" and named[:1] != [truth]
    return "| %s | %s |" % (row, " | ".join(
        "%d" % counts[name] for name in COLUMNS))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cpt")
    parser.add_argument("microservices")
    parser.add_argument("row", nargs="*")
    parser.add_argument("--systems", type=int, default=60)
    parser.add_argument("--first", type=int, default=300)
    parser.add_argument("--check")
    parser.add_argument("--structure", action="store_true")
    options = parser.parse_intermixed_args()  # rows may follow options
    expected = open(options.check, encoding="utf-8").read() if options.check else None
    systems = range(options.first, options.first + options.systems)
    is_wrong = False
    for row in options.row or (STRUCTURE if options.structure else ROWS):
        text = (structure_line if options.structure else line)(options, row, systems)
        is_missing = expected is not None and text not in expected
        is_wrong |= is_missing
        print(text + (" <- not in %s" % options.check if is_missing else ""), flush=True)
    return 1 if is_wrong else 0


sys.exit(main())
