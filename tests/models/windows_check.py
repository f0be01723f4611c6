# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
windows_check.py CPT CPT_CSV DATA [--check FILE]

In how many kinds of requests `cpt whatif --check` predicts the latency of real windows with
a slow service within the error of sampling: once with the times of all services, once with
those of the slow one. DATA has two folders, faults/ with Jaeger's JSON and truth.json, and
events/trainticket/ with CSV and faults.json, which CPT_CSV reads, the tool with the way in
of tests/csv_way. They are no part of this project: where they, or zstd, are absent, the test
is skipped (77). With --check the rows must be in FILE (docs/whatif.md). Only the standard
library is needed.
"""
import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile

LEAST = {"*": .9, None: .75}  # of the kinds: all services, the slow one alone
COLUMNS = "trace,span,parent,service,operation,start_ns,duration_ns"


def service_of(pod):
    """A pod is named after its service, its replica set and itself."""
    return pod.rsplit("-", 2)[0]


def fault_windows(options):
    """Tool, BASE, NEW and slow service of each pair of Jaeger's files."""
    folder = os.path.join(options.data, "faults")
    with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
        for fault in json.load(file):
            yield (options.cpt, *(os.path.join(folder, fault[side] + ".jaeger.json.gz")
                                  for side in ("baseline", "window")), fault["faulty_service"])


def spans_of(options, window, folder):
    """The file of spans of a window of events, as CPT_CSV reads it."""
    name = os.path.join(folder, window + ".csv")
    if not os.path.exists(name):
        lines = subprocess.run(["zstd", "-dc", os.path.join(
            options.data, "events", "trainticket", window + ".trace.csv.zst")],
            check=True, capture_output=True, text=True).stdout.splitlines()
        with open(name, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS.split(","))
            for row in csv.DictReader(lines):
                start, end = int(row["StartTimeUnixNano"]), int(row["EndTimeUnixNano"])
                parent = row["ParentID"] if row["ParentID"] != "root" else ""
                writer.writerow([row["TraceID"], row["SpanID"], parent, service_of(row["PodName"]),
                                 row["OperationName"], start, end - start])
    return name


def event_windows(options, folder):
    """The same of the windows of events; the baseline is of the same day."""
    place = os.path.join(options.data, "events", "trainticket")
    with open(os.path.join(place, "faults.json"), encoding="utf-8") as file:
        faults = [fault for fault in json.load(file) if fault["window"].startswith("latency_")]
    bases = [name[:-len(".trace.csv.zst")] for name in os.listdir(place)
             if name.startswith("baseline_") and name.endswith(".trace.csv.zst")]
    for fault in faults:
        day = fault["window"].split("_")[1]
        base = next(name for name in bases if day in name)
        yield (options.cpt_csv, spans_of(options, base, folder),
               spans_of(options, fault["window"], folder), service_of(fault["pod"]))


def kinds_of(tool, base, new, service):
    done = subprocess.run([tool, "whatif", "--check", "--json", "--service", service, base, new],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["kinds"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cpt")
    parser.add_argument("cpt_csv")
    parser.add_argument("data")
    parser.add_argument("--check")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(options.data, "faults")) or shutil.which("zstd") is None:
        print("skipped: there are no windows of faults at %s, or no zstd" % options.data)
        sys.exit(77)
    faults = []
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for words, windows in (("OnlineBoutique and TrainTicket", list(fault_windows(options))),
                               ("TrainTicket", list(event_windows(options, folder)))):
            within = []
            for asked, least in LEAST.items():
                kinds = [kind for *sides, slow in windows
                         for kind in kinds_of(*sides, asked or slow)]
                within.append(sum(kind["within"] for kind in kinds))
                if within[-1] < least * len(kinds):
                    faults.append("%s, %s: %d of %d are not enough"
                                  % (words, asked or "the slow service", within[-1], len(kinds)))
            rows.append("| %d of %s | %d | %d | %d |" % (len(windows), words, len(kinds), *within))
    print("\n".join(rows))
    if options.check:
        with open(options.check, encoding="utf-8") as file:
            text = file.read()
        faults += ["%s does not have: %s" % (options.check, row) for row in rows if row not in text]
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
