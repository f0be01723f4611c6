# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
events_table.py CPT DATA [--check FILE]

How far lines of logs tell what spans tell, on real requests of which both are known, in
DATA/traceweaver and DATA/trainticket: spans become rows of CSV without parents, log
lines become points. With --check the rows must be in FILE (docs/events.md) as they are.
Skipped (77) without DATA or the program zstd. Only the standard library is needed.
"""
import argparse
import csv
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import defaultdict

COLUMNS = "id service host unit event role peer begin_us end_us".split()
DAY_MS = 86400000


def zstd(path):
    return subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout


def cpt(options, *words):
    return subprocess.run([options.cpt, *words], check=True, capture_output=True,
                          text=True).stdout


# --- Spans ---

def jaeger(path):
    """The traces of a tar of files of Jaeger."""
    traces = []
    with tarfile.open(fileobj=io.BytesIO(zstd(path))) as archive:
        for member in sorted(archive.getnames()):
            file = archive.extractfile(member)
            if file is None or not member.endswith(".json") or "/." in member:
                continue
            for trace in json.load(file)["data"]:
                traces.append([dict(
                    id=trace["traceID"].zfill(32), unit=span["spanID"], host="",
                    service=trace["processes"][span["processID"]]["serviceName"],
                    event=span["operationName"], begin_us=span["startTime"],
                    end_us=span["startTime"] + span["duration"],
                    above=next((r["spanID"] for r in span["references"]), None))
                    for span in trace["spans"]])
    return traces


def service_of(pod):
    return pod.rsplit("-", 2)[0]


def trainticket(options, window):
    traces = defaultdict(list)
    text = zstd(os.path.join(options.data, "trainticket", window + ".trace.csv.zst"))
    for row in csv.DictReader(io.StringIO(text.decode())):
        traces[row["TraceID"]].append(dict(
            id=row["TraceID"], unit=row["SpanID"], host=row["PodName"],
            service=service_of(row["PodName"]), event=row["OperationName"],
            begin_us=int(row["StartTimeUnixNano"]) // 1000,
            end_us=int(row["EndTimeUnixNano"]) // 1000,
            above=None if row["ParentID"] == "root" else row["ParentID"]))
    return list(traces.values())


def sides(traces, callers, whole_ms=False):
    """The spans that are a side of a call: of callees, and of callers if @callers."""
    result = []
    for trace in traces:
        by_unit = {span["unit"]: span for span in trace}
        called = {}
        for span in trace:
            above = by_unit.get(span["above"])
            if above and above["service"] != span["service"]:
                called.setdefault(above["unit"], span["service"])
        kept = {}
        for span in trace:
            above = by_unit.get(span["above"])
            if above is None or above["service"] != span["service"]:
                kept[span["unit"]] = dict(span, role="server", peer="")
            elif callers and span["unit"] in called:
                kept[span["unit"]] = dict(span, role="client", peer=called[span["unit"]])
        for span in kept.values():
            above = span["above"]
            while above in by_unit and above not in kept:
                above = by_unit[above]["above"]
            span["above"] = above if above in kept else None
            if whole_ms:
                span["begin_us"] -= span["begin_us"] % 1000
                span["end_us"] -= span["end_us"] % 1000
        result.append(list(kept.values()))
    return result


def write_rows(path, traces):
    """Rows without parents, in random order. The spans in that order."""
    rows = [span for trace in traces for span in trace]
    random.Random(1).shuffle(rows)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return rows


def write_jaeger(path, traces):
    """The same spans with their own parents."""
    data = []
    for trace in traces:
        spans = [dict(traceID=s["id"], spanID=s["unit"], operationName=s["event"],
                      references=[dict(refType="CHILD_OF", traceID=s["id"],
                                       spanID=s["above"])] if s["above"] else [],
                      startTime=s["begin_us"], duration=s["end_us"] - s["begin_us"],
                      tags=[dict(key="span.kind", value=s["role"])], processID=s["service"])
                 for s in trace]
        data.append(dict(traceID=trace[0]["id"], spans=spans, processes={
            s["service"]: dict(serviceName=s["service"]) for s in trace}))
    with open(path, "w") as file:
        json.dump(dict(data=data), file)


# --- Points ---

def write_points(options, path, window):
    """The lines of a window, by the program's own stamp, then by the container's."""
    text = zstd(os.path.join(options.data, "trainticket", window + ".log.csv.zst"))
    rows = []
    for row in csv.DictReader(io.StringIO(text.decode())):
        line = re.match(r"(\d\d):(\d\d):(\d\d)\.(\d{3}) +\w+ +(\S+#\d+)",
                        json.loads(row["Log"])["log"])
        if line:
            hour, minute, second, ms = map(int, line.groups()[:4])
            own = ((hour - 8) * 60 + minute) * 60000 + second * 1000 + ms
            outer = int(row["TimeUnixNano"])
            own += round((outer / 1e6 - own) / DAY_MS) * DAY_MS
            rows.append((own, outer, row["TraceID"], service_of(row["PodName"]),
                         row["SpanID"], line[5]))
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow("id service unit event time_us".split())
        writer.writerows([r[2], r[3], r[4], r[5], r[0] * 1000] for r in sorted(rows))


# --- Comparing ---

def parents_found(path, rows):
    """Of how many rows the parent is right, in percent."""
    found = {}
    with open(path) as file:
        for trace in json.load(file)["data"]:
            tags = {s["spanID"]: {t["key"]: t["value"] for t in s["tags"]}
                    for s in trace["spans"]}
            for span in trace["spans"]:
                above = [r["spanID"] for r in span["references"]]
                found[tags[span["spanID"]]["cpt.row"]] = \
                    tags[above[0]]["cpt.unit"] if above else None
    children = [(n, row) for n, row in enumerate(rows, 1) if row["above"]]
    return 100 * sum(found[n] == row["above"] for n, row in children) / len(children)


def paths(options, log):
    """By trace: when it began, and segments: from, to, services from the innermost on."""
    result = {}
    for line in cpt(options, "log", "--json", log).splitlines():
        record = json.loads(line)
        at, segments = record["start_unix_ns"], []
        for segment in record["segments"]:
            stack = segment["stack"][:-1] if segment["kind"] == "gap" else segment["stack"]
            names = [frame.split(": ")[0] for frame in stack]
            segments.append((at, at + segment["duration_ns"], names[::-1],
                             segment["kind"] == "gap", segment["stack"]))
            at += segment["duration_ns"]
        result[record["trace_id"]] = segments
    return result


def moved(ours, truth, same):
    """The share of the time that both have in which they are not the @same, in percent."""
    whole = wrong = 0
    for trace in ours.keys() & truth.keys():
        for segment in ours[trace]:
            for other in truth[trace]:
                ns = min(segment[1], other[1]) - max(segment[0], other[0])
                if ns > 0:
                    whole += ns
                    wrong += 0 if same(segment, other) else ns
    return 100 * wrong / whole


def is_same_stack(segment, other):
    return segment[4] == other[4]


def is_same_service(segment, other):
    return segment[2][0] == other[2][0]


def is_one_of_gap(segment, other):
    """A gap is of both services; all else of one."""
    return other[2][0] in segment[2][:2] if segment[3] else is_same_service(segment, other)


def is_same_if_no_gap(segment, other):
    return segment[3] or is_same_service(segment, other)


# --- Rows ---

def parents_row(options, folder, traces):
    name = os.path.join(folder, "parents")
    rows = write_rows(name + ".csv", traces)
    write_jaeger(name + ".json", traces)
    cpt(options, "events", "spans", name + ".csv", "-o", name + ".spans.json")
    cpt(options, "import", "--events", name + ".csv", "-o", name + ".cptlog")
    cpt(options, "import", name + ".json", "-o", name + ".true.cptlog")
    ours, truth = paths(options, name + ".cptlog"), paths(options, name + ".true.cptlog")
    return "%.1f %% of parents; %.1f %% of the time moved, %.1f %% to another service" % (
        parents_found(name + ".spans.json", rows), moved(ours, truth, is_same_stack),
        moved(ours, truth, is_same_service))


def windows(options):
    """The windows with a slow service, those after them, and the baselines."""
    names = sorted({name.split(".")[0] for name in
                    os.listdir(os.path.join(options.data, "trainticket")) if "zst" in name})
    return [[n for n in names if n.startswith(kind)] for kind in
            ("latency", "next", "baseline")]


def order_row(options, folder):
    whole, wrong, lost = 0, 0, 0
    for window in sum(windows(options), []):
        name = os.path.join(folder, window)
        write_points(options, name + ".csv", window)
        cpt(options, "import", "--events", name + ".csv", "-o", name + ".cptlog")
        write_jaeger(name + ".json", [[dict(s, role="") for s in t]
                                      for t in trainticket(options, window)])
        cpt(options, "import", name + ".json", "-o", name + ".true.cptlog")
        ours = paths(options, name + ".cptlog")
        truth = paths(options, name + ".true.cptlog")
        ns = sum(s[1] - s[0] for t in ours.keys() & truth.keys() for s in ours[t])
        whole += ns
        wrong += ns * moved(ours, truth, is_same_if_no_gap)
        lost += ns * moved(ours, truth, is_one_of_gap)
    return "%.1f %% of the time moved, %.1f %% to another service" % (lost / whole,
                                                                   wrong / whole)


def verdict(options, base, new, truth):
    """Is @truth first, has it the largest score, is it sure, is another one."""
    answer = json.loads(cpt(options, "culprit", "--json", base, new))
    services = answer["services"]
    best = max(services, key=lambda s: s["score"])["service"] if services else None
    sure = [s["service"] for s in services if s["culprit"]]
    return (bool(services) and services[0]["service"] == truth, best == truth,
            truth in sure, bool(sure) and truth not in sure)


def culprit_row(options, folder, write):
    with open(os.path.join(options.data, "trainticket", "faults.json")) as file:
        pods = {fault["window"]: service_of(fault["pod"]) for fault in json.load(file)}
    slow, after, baselines = windows(options)
    logs = {}
    for window in slow + after + baselines:
        name = os.path.join(folder, window)
        write(name + ".csv", window)
        cpt(options, "import", "--events", name + ".csv", "-o", name + ".cptlog")
        logs[window] = name + ".cptlog"
    cells, wrong = [], 0
    for group in (slow, after):
        counts = [0, 0, 0]
        for window, fault in zip(group, slow):  # the minute after each, in their order
            base = next(b for b in baselines if window.split("_")[1] in b)
            first, best, sure, other = verdict(options, logs[base], logs[window],
                                               pods[fault])
            counts = [counts[0] + first, counts[1] + best, counts[2] + sure]
            wrong += other
        cells.append("first in %d, largest score in %d, sure in %d" % tuple(counts))
    return "%s of %d; the minute after: %s; wrong and sure: %d" % (
        cells[0], len(slow), cells[1], wrong)


def make_rows(options, folder):
    def train(callers, whole_ms):
        return lambda path, window: write_rows(
            path, sides(trainticket(options, window), callers, whole_ms))

    weaver = os.path.join(options.data, "traceweaver")
    baselines = sum((trainticket(options, b) for b in windows(options)[2]), [])
    yield "parents, callees' lines, media application", parents_row(options, folder, sides(
        jaeger(os.path.join(weaver, "media_microservices_media_load50.tar.zst")), False))
    yield "parents, callees' lines, node application", parents_row(options, folder, sides(
        jaeger(os.path.join(weaver, "nodejs_microservices_node_load50.tar.zst")), False))
    yield "parents, callees' lines at 1 ms, TrainTicket", parents_row(
        options, folder, sides(baselines, False, True))
    yield "parents, lines of both at 1 ms, TrainTicket", parents_row(
        options, folder, sides(baselines, True, True))
    yield "points in order, TrainTicket", order_row(options, folder)
    yield "culprit, lines of callers and callees", culprit_row(options, folder,
                                                               train(True, False))
    yield "culprit, points", culprit_row(
        options, folder, lambda path, window: write_points(options, path, window))
    yield "culprit, callees' lines", culprit_row(options, folder, train(False, False))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("cpt")
    parser.add_argument("data")
    parser.add_argument("--check")
    options = parser.parse_args()
    if not os.path.isdir(options.data) or shutil.which("zstd") is None:
        print("skipped: there is no %s, or no zstd" % options.data)
        return 77
    page = open(options.check).read() if options.check else None
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        for row in make_rows(options, folder):
            line = "| %s | %s |" % row
            print(line, flush=True)
            if page is not None and line not in page:
                print("^ is not in " + options.check)
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
