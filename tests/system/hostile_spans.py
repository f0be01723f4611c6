# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
hostile_spans.py REPORTS - slack, busy and what-if of spans that no good program writes

$CPT is asked about random trees with shared ids (the seed is printed; CPT_TEST_SEED sets it),
negative durations, stamps that are all one, 10^5 calls of 10^5 operations below one span, a
chain of 10^5 spans, and each file of the folder REPORTS, if that is there. With both rules for
who waited no command crashes, takes above a minute of CPU or above 1.5 GB; without a change each
latency stays as it was, times on the path add up to it, and what takes half of its time or
none makes nothing slower than nothing.
"""
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time

SECONDS = 60
BYTES = 3 << 29
MANY = 100000
TREES = 60
COMMANDS = (("slack",), ("busy",), ("whatif",), ("whatif", "--set", "*=-50%"),
            ("whatif", "--sweep", "50%"))


# --- Spans ---

def span(trace, number, parent, service, operation, start_us, us, kind="server"):
    below = [{"refType": "CHILD_OF", "traceID": trace, "spanID": parent}] if parent else []
    return {"traceID": trace, "spanID": number, "operationName": operation,
            "processID": service, "startTime": start_us, "duration": us, "references": below,
            "tags": [{"key": "span.kind", "type": "string", "value": kind}]}


def write(name, traces):
    with open(name, "w", encoding="utf-8") as file:
        for spans in traces:
            processes = {one["processID"]: {"serviceName": one["processID"]} for one in spans}
            json.dump({"data": [{"traceID": spans[0]["traceID"], "spans": spans,
                                 "processes": processes}]}, file)
            file.write("\n")
    return name


def trace_id(number):
    return "%032x" % (number + 1)


NOW_US = 10**15
DAY_US = 10**9


def random_tree(numbers, trace, starts, lengths):
    """Some spans share ids, some are their own ancestors, some have no parent."""
    count = numbers.randint(1, 60)
    ids = ["%x" % numbers.randint(1, max(count * 3 // 4, 1)) for _ in range(count)]
    spans = [span(trace, "ffff", None, "a", "/", NOW_US, 10**5)]
    for number in ids:
        parent = numbers.choice(["ffff", "ffff", numbers.choice(ids), number, "eeee", None])
        spans.append(span(trace, number, parent, "s%d" % numbers.randint(0, 4),
                          "op%d" % numbers.randint(0, 3), NOW_US + starts(), lengths(),
                          numbers.choice(["server", "client", "internal", "producer"])))
    numbers.shuffle(spans)
    return spans


def random_trees(numbers, starts, lengths):
    return [random_tree(numbers, trace_id(i), starts, lengths) for i in range(TREES)]


def wide():
    trace = trace_id(0)
    yield [span(trace, "1", None, "a", "/", NOW_US, 10**7)] + [
        span(trace, "%x" % (i + 2), "1", "a", "op%d" % i, NOW_US + 50 * i, 4 * 10**6, "client")
        for i in range(MANY)]


def deep():
    trace = trace_id(0)
    yield [span(trace, "%x" % (i + 1), "%x" % i if i else None, "s%d" % i, "op",
                NOW_US + i, 10**6 - 2 * i) for i in range(MANY)]


def deep_alike():
    return ([dict(one, processID="s%d" % (i % 50)) for i, one in enumerate(spans)]
            for spans in deep())


def inputs(numbers, reports):
    below = numbers.randrange
    yield write("ids.json", random_trees(numbers, lambda: below(10**5), lambda: below(5 * 10**4)))
    yield write("equal.json", random_trees(numbers, lambda: 0, lambda: 10**5))
    yield write("grid.json", random_trees(numbers, lambda: below(5) * 20000,
                                          lambda: below(5) * 20000))
    yield write("negative.json", random_trees(
        numbers, lambda: below(-DAY_US, DAY_US),
        lambda: numbers.choice([-1, -10**18, 10**18, 2**62, 0, below(10**5)])))
    yield write("wide.json", wide())
    yield write("deep.json", deep())
    yield write("deep_alike.json", deep_alike())
    if os.path.isdir(reports):
        names = sorted(os.listdir(reports))
        yield from (os.path.join(reports, name) for name in names if name.startswith("case-"))
    else:
        print("there is no folder '%s': its files are not asked about" % reports)


# --- What is asked ---

def limit():
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def faults_of(command, status, said):
    """What is wrong with the answer."""
    if not said.get("requests"):
        if status == 0:
            yield "there is no request, and no error"
    elif command == ("whatif",):
        mean = said["latency"]["mean"]
        if mean["before_ns"] != mean["after_ns"] or mean["change_ns"] != 0:
            yield "without a change the latency changes: %s" % mean
    elif command[0] == "whatif" and "latency" in said:
        mean = said["latency"]["mean"]
        if not 0 <= mean["after_ns"] <= mean["before_ns"]:
            yield "half of each time is more: %s" % mean
    else:
        path = sum(row["path_ns" if command[0] == "slack" else "blocking_ns"]
                   for row in said.get("frames", []))
        latency = said["latency_ns"] if command[0] == "slack" else sum(
            group["blocking_ns"] for group in said["groups"]) if command[0] == "busy" else path
        if said.get("inexact", 0) == 0 and abs(path - latency) > 1 + 1e-9 * latency:
            yield "the sum is %f, not %f" % (path, latency)


def ask(command, waits, name):
    words = [os.environ["CPT"], *command, "--json", "--waits", waits, name]
    try:
        done = subprocess.run(words, capture_output=True, timeout=20 * SECONDS, check=False,
                              preexec_fn=limit)
    except subprocess.TimeoutExpired:
        yield "does not end"
        return
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        yield "takes more than %d s of CPU" % SECONDS
        return
    if done.returncode not in (0, 1, 2):
        yield "ends with %d: %s" % (done.returncode, done.stderr[-300:])
        return
    if b"out of memory" in done.stderr:
        yield "takes more memory than it may"
    try:
        yield from faults_of(command, done.returncode, json.loads(done.stdout or b"{}"))
    except ValueError:
        yield "says no JSON: %s" % done.stdout[:300]


def main():
    seed = int(os.environ.get("CPT_TEST_SEED") or time.time_ns())
    print("CPT_TEST_SEED=%d" % seed)
    faults = 0
    asked = 0
    for name in inputs(random.Random(seed), sys.argv[1]):
        for command in COMMANDS:
            for waits in ("learnt", "walk"):
                asked += 1
                for fault in ask(command, waits, name):
                    faults += 1
                    print("%s: %s --waits %s: %s" % (name, " ".join(command), waits, fault))
    print("asked: %d, faults: %d" % (asked, faults))
    sys.exit(faults != 0)


if __name__ == "__main__":
    main()
