# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
model_diff_table.py CPT DATA [--check FILE]

What `cpt model diff` says of real minutes of log lines with a fault in the code, against
two minutes without one: the first row of each, and how many random halves of minutes
without a fault have a row that chance is said not to make. DATA is a folder like
events/trainticket: faults.json and CSV files, compressed with zstd. It is no part of this
project: where it, or zstd, is absent, the test is skipped (77). With --check the rows must
be in FILE (docs/events.md), and the service must be the right one. Only the standard
library is needed.
"""
import argparse
import csv
import datetime
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

LINE = re.compile(r"(\d\d):(\d\d):(\d\d)\.(\d{3}) +\S+ +(\S+?#\d+) +TraceID: *(\w+) +SpanID: *(\w+)")
DAY_MS = 86400000
HALVES, FALSE_MOST = 40, 2


def service_of(pod):
    """A pod is named after its service, its replica set and itself."""
    return pod.rsplit("-", 2)[0]


def read_window(options, window):
    """Rows of CSV by request: by the program's own ms, then by the container's stamp."""
    text = subprocess.run(["zstd", "-dc", os.path.join(options.data, window + ".log.csv.zst")],
                          check=True, capture_output=True).stdout.decode()
    rows = []
    for row in csv.DictReader(text.splitlines()):
        try:
            line = LINE.match(json.loads(row["Log"])["log"])
        except ValueError:
            continue
        if line is None:
            continue
        outer = int(row["TimeUnixNano"])
        hour, minute, second, ms = map(int, line.groups()[:4])
        # the own stamp has no date and is in Shanghai's time: the nearest to the other
        own = outer // 1000000 // DAY_MS * DAY_MS + ((hour - 8) * 3600 + minute * 60 + second) * 1000 + ms
        own = min((own + k * DAY_MS for k in (-1, 0, 1)), key=lambda at: abs(at - outer // 1000000))
        rows.append((own, outer, line[6], service_of(row["PodName"]), line[7], line[5]))
    requests = {}
    for own, _, trace, service, span, event in sorted(rows):
        requests.setdefault(trace, []).append(f"{trace},{service},{span},{event},{own * 1000}")
    return requests


def write(path, requests):
    with open(path, "w", encoding="utf-8") as file:
        file.write("id,service,unit,event,time_us\n")
        for rows in requests:
            file.write("\n".join(rows) + "\n")


def diff(options, base, new):
    output = subprocess.run([options.cpt, "model", "diff", "--json", base, new], check=True,
                            capture_output=True, text=True).stdout
    return json.loads(output)["rows"]


def count_of(share, requests):
    return f"{share * requests:.3g} of {requests}"


def fault_rows(options, folder, windows):
    """A line of the table for each fault, and whether its service is the right one."""
    with open(os.path.join(options.data, "faults.json"), encoding="utf-8") as file:
        faults = [fault for fault in json.load(file) if fault["window"].startswith("code_")]
    for fault in faults:
        new = os.path.join(folder, "new.csv")
        write(new, windows[fault["window"]].values())
        row = diff(options, os.path.join(folder, "base.csv"), new)[0]
        minute = datetime.datetime.strptime(fault["window"], "code_%Y-%m-%d_%H_%M")
        yield (f"| {minute:%H:%M} | {fault['type']} in {service_of(fault['pod'])} | {row['service']} | "
               f"{row['after']} | {row['was']} | {row['now']} | "
               f"{count_of(row['base_share'], row['base_requests'])} | "
               f"{count_of(row['new_share'], row['new_requests'])} | {row['p']:.3f} |",
               row["service"] == service_of(fault["pod"]))


def false_halves(options, folder, requests):
    """Of random halves of @requests, those that have a row."""
    ids, wrong = sorted(requests), 0
    for seed in range(HALVES):
        random.Random(seed).shuffle(ids)
        paths = [os.path.join(folder, side + ".csv") for side in ("one", "other")]
        for i, path in enumerate(paths):
            write(path, [requests[name] for name in ids[i::2]])
        wrong += any(row["p"] < .05 for row in diff(options, *paths))
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cpt")
    parser.add_argument("data")
    parser.add_argument("--check")
    options = parser.parse_args()
    if not os.path.isdir(options.data) or shutil.which("zstd") is None:
        print("skipped: there is no", options.data, "or no zstd")
        return 77
    windows = {name[:-len(".log.csv.zst")]: None for name in os.listdir(options.data)
               if name.endswith(".log.csv.zst") and name.startswith(("code_", "baseline_"))}
    for window in windows:
        windows[window] = read_window(options, window)
    bases = sorted(window for window in windows if window.startswith("baseline_"))
    lines, right = [], 0
    with tempfile.TemporaryDirectory() as folder:
        write(os.path.join(folder, "base.csv"), [rows for window in bases for rows in windows[window].values()])
        for line, is_right in fault_rows(options, folder, windows):
            lines.append(line)
            right += is_right
        wrong = max(false_halves(options, folder, windows[window]) for window in bases)
    print("\n".join(lines))
    print(f"{right} of {len(lines)} right; of {HALVES} random halves at most {wrong} have a row")
    if options.check is None:
        return 0
    with open(options.check, encoding="utf-8") as file:
        text = file.read()
    missing = [line for line in lines if line not in text]
    print("\n".join("not in the document: " + line for line in missing))
    return 1 if missing or right < len(lines) or wrong > FALSE_MOST else 0


sys.exit(main())
