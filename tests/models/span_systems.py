# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
span_systems.py - systems whose programs are known, as spans, and what cpt says of them

A generator of such systems, called as `PROGRAMS STYLE SEED FOLDER`, writes spans.json (of
Jaeger) and truth.json, in which are the mean latency and, for each change, a term of cpt
whatif and the true change; with --occurrences, also the true slack and drag of some spans. It
is no part of this project: where it is absent, tests are skipped (77).

The generator is slow, so it runs once for each system. What its spans would be with coarser
stamps, of servers alone, or with clocks that differ, is made of them here.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

STYLES = {"seq": "calls in a row", "par": "calls side by side",
          "modes": "in a row or side by side, by a flag", "limited": "a limit of calls at a time",
          "async": "callers that compute meanwhile", "background": "calls in the background",
          "branches": "branches side by side", "cache": "calls that are skipped",
          "retry": "retries", "hedge": "hedges", "mixed": "all of these",
          "queue": "pools of workers"}
POOLS = "queue"  # what follows from queues cannot be predicted
FAINT = .005     # of the latency: smaller changes are not asked for


def skip_without(programs):
    if not os.path.exists(programs):
        print("skipped: there is no generator of systems at %s" % programs)
        sys.exit(77)


class System:
    """The spans of a system, and what is true of it. Files are in `folder`."""

    def __init__(self, programs, style, seed, folder, *options):
        subprocess.run([sys.executable, programs, style, str(seed), folder, *options],
                       check=True, stdout=subprocess.DEVNULL)
        self.style = style
        self.seed = seed
        self.folder = folder
        self.spans = os.path.join(folder, "spans.json")
        with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
            self.truth = json.load(file)
        self.mean_ns = self.truth["mean_ns"]

    def changes(self, *kinds):
        """Those that are large enough to be asked for."""
        return [change for change in self.truth["changes"]
                if kind_of(change["term"]) in kinds and
                abs(change["change_ns"]) > FAINT * self.mean_ns]

    def view(self, name, look):
        """A file of the same traces, each as `look` has it."""
        with open(self.spans, encoding="utf-8") as file:
            data = json.load(file)["data"]
        path = os.path.join(self.folder, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"data": [look(trace) for trace in data]}, file)
        return path


def over_systems(programs, systems, judge, *options):
    """What `judge` says of each of `systems` (style, seed), in their order."""
    def one(system):
        with tempfile.TemporaryDirectory() as folder:
            return judge(System(programs, *system, folder, *options))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, systems))


def kind_of(term):
    if term.endswith("<network>=0"):
        return "network"
    return {"-50%": "half", "0": "none", "+10ms": "more"}[term.split("=")[-1]]


# --- Views: of a trace as Jaeger has it ---

def tag_of(span, key):
    return next((tag["value"] for tag in span["tags"] if tag["key"] == key), None)


def in_milliseconds(trace):
    for span in trace["spans"]:
        end = span["startTime"] + span["duration"]
        span["startTime"] = span["startTime"] // 1000 * 1000
        span["duration"] = end // 1000 * 1000 - span["startTime"]
    return trace


def of_servers_alone(trace):
    """What a client's span tells of an error, the server's does."""
    clients = {span["spanID"]: span for span in trace["spans"]
               if tag_of(span, "span.kind") == "client"}
    kept = [span for span in trace["spans"] if span["spanID"] not in clients]
    for span in kept:
        for reference in span["references"]:
            client = clients.get(reference["spanID"])
            if client is not None:
                span["tags"] += [tag for tag in client["tags"] if tag["key"] == "error"]
                reference["spanID"] = client["references"][0]["spanID"]
    return dict(trace, spans=kept)


def with_clocks(seed, most_us):
    """A view: each service's clock is off by so much at most, and hosts are told."""
    numbers = random.Random(seed)
    clocks = {"svc0": 0}

    def look(trace):
        for name, process in sorted(trace["processes"].items()):
            process["tags"] = [{"key": "hostname", "type": "string", "value": "host-" + name}]
        for span in trace["spans"]:
            clock = span["processID"]
            if clock not in clocks:
                clocks[clock] = round(numbers.uniform(-most_us, most_us))
            span["startTime"] += clocks[clock]
        return trace
    return look


# --- What cpt says ---

def said_by(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit("%s: %s" % (" ".join(command), done.stderr))
    return json.loads(done.stdout)


def whatif(cpt, spans, term, waits="learnt"):
    """The change of the mean: change_ns and, of inferred waits, could_be and verdict."""
    return said_by(cpt, "whatif", "--json", "--waits", waits, "--set", term,
                   spans)["latency"]["mean"]
