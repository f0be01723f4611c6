# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""as_tools.py SEED COUNT FILE... - cpt import --mode=crisp and --mode=jaeger-ui against models

The models are the rules of those tools (CRISP 2710c0b9, jaeger-ui c321fb32), written from
their descriptions as plainly and slowly as they can be: recursive, each step over all spans.
They are compared on COUNT random traces, and on each trace of the Jaeger FILEs.
"""
import collections
import gzip
import json
import random
import subprocess
import sys

sys.setrecursionlimit(10000)


class Node:
    def __init__(self, span, place, processes):
        tags = {tag["key"]: tag["value"] for tag in reversed(span.get("tags") or [])}
        process = processes.get(span.get("processID"), {})
        self.id, self.place = span["spanID"], place
        self.start, self.duration = span["startTime"], span["duration"]
        self.end = self.first_end = self.start + self.duration
        self.first_start = self.start
        self.kind = str(tags.get("span.kind", "")).lower()
        self.hosts = [tag["value"] for tag in process.get("tags") or [] if tag["key"] == "hostname"]
        self.references = span.get("references") or []
        self.parent, self.children = None, []


def read(trace):
    return [Node(span, place, trace["processes"]) for place, span in enumerate(trace["spans"])]


def link(nodes, parent_of):
    """Whose parent is not there is a root."""
    by_id = {node.id: node for node in nodes}
    for node in nodes:
        node.parent = by_id.get(parent_of(node))
        if node.parent is not None:
            node.parent.children.append(node)


def chosen_root(nodes, trace_id):
    """The root of a record: the earliest that names no parent, else the earliest orphan."""
    def rank(node):
        named = [r for r in node.references if r.get("traceID", trace_id) == trace_id]
        return (bool(named), node.start, -node.duration, node.id)
    return min((node for node in nodes if node.parent is None), key=rank)


# --- CRISP ---

def crisp_is_call(parent, child):
    def served(above):
        return child.kind == "server" and above
    if len(parent.children) != 1 or child.duration > 1.01 * parent.duration:
        return False
    grand = parent.parent
    return (served(parent.kind == "client")
            or served(parent.kind != "server" and grand is not None and grand.kind == "server")
            or bool(parent.hosts and child.hosts and parent.hosts[-1] != child.hosts[-1]))


def crisp_fit(parent):
    """Cuts the children of a span to its time, or drops them; then theirs."""
    kept = []
    for child in parent.children:
        left = child.start < parent.start
        right = child.end > parent.end
        if crisp_is_call(parent, child):
            child.duration = min(child.duration, parent.duration)
        elif left and (right or child.end <= parent.start):
            continue
        elif right and child.start >= parent.end:
            continue
        elif left:
            child.start = parent.start
            child.duration = child.end - child.start
        elif right:
            child.end = parent.end
            child.duration = child.end - child.start
        kept.append(child)
    parent.children = kept
    for child in kept:
        crisp_fit(child)


def crisp_path(span, own):
    own[span.id] += span.duration
    later = None
    for child in sorted(span.children, key=lambda c: (-c.end, -c.place)):
        if later is not None and child.end >= later.start:
            window = range(later.start, child.end + 1)
            events = sum((c.start in window) + (c.end in window) for c in span.children)
            if not (child.start < later.start and child.end < later.end and events == 2
                    and (child.end - later.start) / span.duration < 0.01):
                continue
        later = child
        own[span.id] -= child.duration
        crisp_path(child, own)
    own[span.id] = max(own[span.id], 0)


def crisp(trace):
    nodes = read(trace)
    def parent_of(node):
        named = [r["spanID"] for r in node.references if r["refType"] == "CHILD_OF"]
        return named[-1] if named else None
    link(nodes, parent_of)
    root = chosen_root(nodes, trace["traceID"])
    own = collections.Counter()
    crisp_fit(root)
    crisp_path(root, own)
    return +own


# --- Jaeger's page ---

def jaeger_fit(parent):
    kept = []
    for child in parent.children:
        if (child.start >= parent.end
                or (child.start < parent.start and child.end <= parent.start)
                or (parent.kind == "producer" and child.kind == "consumer")):
            continue
        child.start, child.end = max(child.start, parent.start), min(child.end, parent.end)
        kept.append(child)
    parent.children = kept
    for child in kept:
        jaeger_fit(child)


def jaeger_path(span, own):
    cursor = None
    while True:
        ended = [c for c in span.children if cursor is None or c.end < cursor]
        last = min(ended, key=lambda c: (-c.end, c.first_start, c.place), default=None)
        own[span.id] += (span.end if cursor is None else cursor) - (last.end if last else span.start)
        if last is None:
            return
        jaeger_path(last, own)
        cursor = last.start


def jaeger_ui(trace):
    """Of all roots."""
    nodes = read(trace)
    def parent_of(node):
        named = [r for r in node.references if r.get("traceID", trace["traceID"]) == trace["traceID"]]
        named.sort(key=lambda r: r["refType"] != "CHILD_OF")
        return named[0]["spanID"] if named else None
    link(nodes, parent_of)
    own = collections.Counter()
    for root in [node for node in nodes if node.parent is None]:
        jaeger_fit(root)
        jaeger_path(root, own)
    return +own


# --- Random traces ---

def random_span(number, count, dice, span_range):
    """Many times are the same; most spans lie within their parent, or nearly."""
    references = []
    parent = dice.choice((0, number - 1, dice.randrange(number))) if number > 0 else 0
    if number > 0 and dice.random() < 0.95:
        named = "s%d" % (parent if dice.random() < 0.97 else count)
        kind = "FOLLOWS_FROM" if dice.random() < 0.08 else "CHILD_OF"
        references.append({"refType": kind, "traceID": "1", "spanID": named})
        if dice.random() < 0.03:
            references.append({"refType": "FOLLOWS_FROM", "traceID": "1", "spanID": "s0"})
    first, last = dice.times[parent] if number > 0 else (span_range, 2 * span_range)
    start = dice.randint(first, last)
    if number > 0 and dice.random() < 0.4: # as another one ends
        start = max(0, dice.times[dice.randrange(number)][1] - dice.choice((0, 1, 3, 9)))
    end = dice.randint(start, max(start, last + dice.choice((0, 0, 0, 1, 5, span_range))))
    if dice.random() < 0.2:
        end = start + (last - first) * dice.choice((100, 101, 102)) // 100 + dice.choice((0, 0, 1))
    if dice.random() < 0.2:
        start = max(0, start - dice.choice((1, 5, span_range)))
    dice.times[number] = (start, end)
    tags = [{"key": "span.kind", "value": dice.choice(
        ("client", "server", "client", "server", "internal", "producer", "consumer"))}]
    return {"spanID": "s%d" % number, "traceID": "1", "operationName": "o", "references": references,
            "startTime": 1000 + start, "duration": end - start, "processID": "p%d" % dice.randrange(4),
            "tags": tags if dice.random() < 0.7 else []}


def random_trace(dice, number):
    dice.times = {}
    count = dice.randint(1, dice.choice((3, 6, 12, 30)))
    span_range = dice.choice((5, 40, 1000, 100000))
    spans = [random_span(i, count, dice, span_range) for i in range(count)]
    if dice.random() < 0.5:
        dice.shuffle(spans)
    hosts = ([{"key": "hostname", "value": "h%d" % i}] if i > 0 else [] for i in (0, 1, 2, 2))
    return {"traceID": "%x" % (number + 1), "processes": {
        "p%d" % i: {"serviceName": "s%d" % (i % 3), "tags": tags} for i, tags in enumerate(hosts)},
        "spans": [dict(span, traceID="%x" % (number + 1), references=[
            dict(r, traceID="%x" % (number + 1)) for r in span["references"]]) for span in spans]}


# --- Comparing ---

def found(path, mode):
    out = subprocess.run(["cpt", "import", "--sections", "--mode=" + mode, path],
                         capture_output=True, text=True, check=True)
    for line in out.stdout.splitlines():
        trace = json.loads(line)
        own = collections.Counter()
        for section in trace["sections"]:
            own[section["span_id"]] += section["end_us"] - section["start_us"]
        yield trace["trace_id"], own


def compare(path, traces):
    wrong = 0
    for mode, model in (("crisp", crisp), ("jaeger-ui", jaeger_ui)):
        for (trace_id, own), trace in zip(found(path, mode), traces, strict=True):
            expected = model(trace)
            if own != expected:
                wrong += 1
                if wrong <= 3:
                    print("%s: trace %s as %s: %s, not %s" % (
                        path, trace_id, mode, sorted((own - expected).items()),
                        sorted((expected - own).items())))
    return wrong


def main(seed, count, *paths):
    wrong = compared = 0
    traces = [random_trace(random.Random(int(seed) + i), i) for i in range(int(count))]
    if traces:
        with open("random.json", "w") as file:
            json.dump({"data": traces}, file)
        wrong += compare("random.json", traces)
        compared += len(traces)
    for path in paths:
        with (gzip.open if path.endswith(".gz") else open)(path) as file:
            given = json.load(file)
        traces = given.get("data", [given])
        wrong += compare(path, traces)
        compared += len(traces)
    if wrong:
        print("%d of %d differ; seed %s" % (wrong, 2 * compared, seed))
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
