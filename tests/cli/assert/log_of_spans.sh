# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# random trees: what rules say of spans and of the log made of them; no edge that no span has
# (CPT_TREES: how many; CPT_TEST_SEED: the first of them)
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cat >trees.py <<'END'
import collections, json, os, random, subprocess, sys, time

SERVICES = ["A", "B", "C"]
PEERS = ["db", "mq"]
OPERATIONS = ["x", "y"]
BATCH = 250

class Span:
    """Times in us; `above` is the span that this one hangs below in the generator's mind."""
    def __init__(self, ident, above, service, operation, kind, start, end, peer=None):
        self.id, self.above, self.service = ident, above, service
        self.operation, self.kind, self.peer = operation, kind, peer
        self.start, self.end = start, end
        self.parent = above.id if above is not None else None

def name(random):
    return random.choice(SERVICES), random.choice(OPERATIONS)

# --- Trees in which all spans have time of their own ---

class Neat:
    """Lays spans out one after the other; of those below one span, some may touch."""
    def __init__(self, random):
        self.random, self.spans, self.now, self.ids = random, [], 0, 0
        self.least = random.choice([0, 1])

    def pause(self):
        self.now += self.random.randint(1, 9)

    def between(self):
        self.now += self.least * self.random.randint(1, 9)

    def span(self, above, service, operation, kind, below, ident=None, peer=None):
        self.ids += 1
        span = Span(ident or "%x" % self.ids, above, service, operation, kind, self.now, 0, peer)
        self.spans.append(span)
        self.pause()
        for each in below:
            each(span)
            self.between()
        span.end = self.now
        return span

    def work(self, depth, service, any_service=True):
        """What a span of `service` may have below it."""
        if depth == 0:
            return []
        choice = [self.inside, self.client, self.client] + [self.loose] * any_service
        return [self.random.choice(choice)(depth - 1, service) for _ in range(self.random.randint(0, 3))]

    def inside(self, depth, service):
        operation = self.random.choice(OPERATIONS)
        kind = self.random.choice(["internal", None])
        return lambda above: self.span(above, service, operation, kind, self.work(depth, service))

    def loose(self, depth, _):
        """A span of any service, of any kind."""
        service, operation = name(self.random)
        kind = self.random.choice(["server", "client", "internal", None])
        return lambda above: self.span(above, service, operation, kind, self.work(depth, service),
                                       peer=self.random.choice(PEERS + [None]))

    def client(self, depth, service):
        """0 to 4 callees, attempts among them, and perhaps children of its own."""
        random, operation = self.random, self.random.choice(OPERATIONS)
        peer = random.choice(PEERS + [None, None])
        shares = random.random() < 0.5
        def make(above):
            self.ids += 1
            ident = "%x" % self.ids
            callees = [name(random) for _ in range(random.choice([0, 1, 1, 1, 2, 3, 4]))]
            if random.random() < 0.4:
                callees = callees[:1] * len(callees)
            below = [self.server(depth, callee, ident if shares else None) for callee in callees]
            if random.random() < 0.3:
                below += self.work(depth, service, not shares) # else it may be of a callee
                random.shuffle(below)
            return self.span(above, service, operation, "client", below, ident, peer)
        return make

    def server(self, depth, callee, ident):
        def make(above):
            span = self.span(above, callee[0], callee[1], "server", [], ident)
            if ident is not None: # they share the parent, too; children are of the callee's service
                span.parent = above.parent
                below = [self.inside(depth, callee[0]) for _ in range(self.random.randint(0, 1) if depth else 0)]
            else:
                below = self.work(depth, callee[0])
            for each in below:
                each(span)
                self.between()
            span.end = self.now
            return span
        return make

def neat(random):
    tree = Neat(random)
    kind = random.choice(["server", "server", "client", None])
    service, operation = name(random)
    if kind == "client":
        tree.client(3, service)(None)
    else:
        tree.span(None, service, operation, kind, tree.work(3, service))
    return tree.spans

# --- Trees in which anything is wrong ---

def wild(random):
    spans = []
    for i in range(random.randint(1, 14)):
        above = random.choice(spans) if spans and random.random() < 0.97 else None
        service, operation = name(random)
        low, high = (above.start, above.end) if above is not None and above.end else (0, 1000)
        if random.random() < 0.2:
            low, high = 0, 1000
        start = random.randint(low, high)
        end = random.randint(start, max(start, high))
        if random.random() < 0.3:
            start, end = start // 50 * 50, (end + 49) // 50 * 50
        kind = random.choice(["server", "client", "client", "internal", "producer", "consumer", None])
        spans.append(Span("%x" % (i + 1), above, service, operation, kind, start, end,
                          random.choice(PEERS + [None, None])))
        if random.random() < 0.3 and above is not None: # some more with its id
            first = spans[-1]
            for _ in range(random.randint(1, 5)):
                service, operation = name(random)
                start = random.randint(first.start, first.end)
                spans.append(Span(first.id, above, service, operation,
                                  random.choice(["server"] * 4 + ["client", "consumer", None]),
                                  start, random.randint(start, first.end)))
    for span in spans[1:] if random.random() < 0.8 else spans:
        if random.random() < 0.05:
            span.start = span.end = None
    random.shuffle(spans)
    return spans

# --- As a file, and as a log ---

def jaeger(trace, spans):
    out = []
    for span in spans:
        tags = [] if span.kind is None else [{"key": "span.kind", "value": span.kind}]
        if span.peer is not None:
            tags.append({"key": "peer.service", "value": span.peer})
        one = {"spanID": span.id, "operationName": span.operation, "processID": span.service, "tags": tags,
               "references": [] if span.parent is None else [{"refType": "CHILD_OF", "spanID": span.parent}]}
        if span.start is not None:
            one.update(startTime=1000 + span.start, duration=span.end - span.start)
        out.append(one)
    return {"traceID": trace, "spans": out, "processes": {s: {"serviceName": s} for s in SERVICES}}

def cpt(*arguments):
    out = subprocess.run(["cpt", *arguments], capture_output=True, text=True)
    assert out.returncode in (0, 3), (arguments[0], out.returncode, out.stderr)
    return out.stdout

def edges_of(spans):
    """All edges that spans have: to children by their ids, within one id, to callees by name, which a
    piece without a time may tell of a client. Other spans without a time are passed over."""
    of_id = collections.defaultdict(list)
    for span in spans:
        of_id[span.id].append(span)

    def callers(span):
        below = of_id.get(span.parent, [])
        if span.kind in ("server", "consumer"):
            below = below + [one for one in of_id[span.id] if one.kind in ("client", "producer")]
        return below

    clients = {(span.id, span.service) for span in spans if span.kind == "client"}
    edges = {(span.service, span.peer) for span in spans if span.peer is not None and
             (span.kind == "client" or span.start is None and (span.id, span.service) in clients)}
    for span in spans:
        above, seen = list(callers(span)), set()
        while above:
            one = above.pop()
            edges.add((one.service, span.service))
            if one.start is None and one not in seen:
                seen.add(one)
                above = above + callers(one)
    return edges

def check_record(record, spans):
    known = {span.service for span in spans} | {span.peer for span in spans}
    edges = edges_of(spans)
    assert sum(segment["duration_ns"] for segment in record["segments"]) == record["latency_ns"]
    for segment in record["segments"]:
        services = []
        for frame in segment["stack"]:
            services.append(frame.split(": ")[0])
        assert set(services) <= known, segment["stack"]
        for above, below in zip(services, services[1:]):
            assert above == below or (above, below) in edges, segment["stack"]

# --- Rules ---

def pattern(random):
    service = random.choice(SERVICES + PEERS[:1])
    return 'span("%s")' % random.choice([service, service, random.choice(OPERATIONS), "*",
                                         service + ": " + random.choice(OPERATIONS)])

def rule(random):
    kind = random.choice(["no", "some", "every", "at most", "at least"])
    text = kind + (" %d" % random.randint(1, 4) if kind.startswith("at") else "") + " " + pattern(random)
    under = random.random() < 0.7 or kind == "every"
    if under:
        text += random.choice([" under ", " directly under "]) + pattern(random)
    return text + (" on the path" if random.random() < 0.2 else "")

def broken(rules, path, top):
    answer = json.loads(cpt("assert", "--json", "--top", str(top), " and ".join(rules), path))
    return [{example["trace_id"].lstrip("0") for example in one["examples"]} for one in answer["rules"]]

def fail(seed, count, trace, why):
    sys.exit("CPT_TEST_SEED=%d CPT_TREES=%d: trace %s: %s" % (seed, count, trace, why))

def check(make, is_neat, seed, count):
    trees = {"%x" % (seed + i): make(random.Random(seed + i)) for i in range(count)}
    with open("spans.json", "w") as file:
        json.dump({"data": [jaeger(trace, spans) for trace, spans in trees.items()]}, file)
    cpt("import", "-o", "spans.cptlog", "spans.json")
    logged = set()
    for line in cpt("log", "--json", "spans.cptlog").splitlines():
        record = json.loads(line)
        trace = record["trace_id"].lstrip("0")
        logged.add(trace)
        try:
            check_record(record, trees[trace])
        except AssertionError as error:
            fail(seed, count, trace, error)
    rules = [rule(random.Random(seed + i)) for i in range(64)]
    for text, spans, log in zip(rules, broken(rules, "spans.json", count), broken(rules, "spans.cptlog", count)):
        spans &= logged
        wrong = spans ^ log if is_neat else spans - log if text.startswith(("some", "at least")) else log - spans
        for trace in sorted(wrong)[:1]:
            fail(seed, count, trace, text + ": broken by " + ("spans alone" if trace in spans else "the log alone"))

count = int(os.environ.get("CPT_TREES", 250))
seed = int(os.environ.get("CPT_TEST_SEED", time.time_ns() // 1000))
for at in range(0, count, BATCH):
    for make in (neat, wild):
        check(make, make is neat, seed + at, min(BATCH, count - at))
    os.unlink("spans.json")
    os.unlink("spans.cptlog")
END
python3 trees.py && echo "spans and logs agree"
