# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the rows of --by against sums over the segments of each request, and their own sums
if ! command -v python3 >/dev/null; then
    echo "skipped: there is no python3"
    exit 77
fi
cat >check.py <<'END_OF_CHECK'
import json, subprocess, sys
from fractions import Fraction

log = sys.argv[1]

def run(*words):
    return subprocess.run(["cpt", *words, log], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout

def service(stack):
    for name in reversed(stack):
        if ": " in name and "\u2039" not in name:
            return name.split(": ")[0]
    return "(none)"

def group(by, stack):
    if by == "name":
        return stack[-1]
    if by == "service":
        return service(stack)
    return (service(stack[:-1]) + " " if stack[1:] else "") + "-> " + service(stack)

def groups(by, stack):
    """of each frame of a stack; an edge goes on below it in the same service"""
    found = []
    for n in range(1, len(stack) + 1):
        above = stack[:n - 1]
        if by != "name" and above and service(above) == service(stack[:n]):
            found.append(found[-1])
        else:
            found.append(group(by, stack[:n]))
    return found

requests = [json.loads(line) for line in run("log", "--json").splitlines()]
requests = [r for r in requests if not r["forced"]]
for by in "service", "name", "edge":
    weight, latency, own, whole, having = Fraction(0), 0, {}, {}, {}
    for request in requests:
        w = 1 / Fraction(request["probability"])
        weight += w
        latency += w * request["latency_ns"]
        for segment in request["segments"]:
            names = groups(by, segment["stack"])
            ns = w * segment["duration_ns"]
            own[names[-1]] = own.get(names[-1], 0) + ns
            for name in set(names):
                whole[name] = whole.get(name, 0) + ns
    report = json.loads(run("report", "--json", "--by", by))
    mean = int(latency / weight + Fraction(1, 2))
    rows = {row["stack"][0]: row for row in report["rows"]}
    assert report["by"] == by and len(rows) == len(report["rows"])
    assert sum(row["self_ns"] for row in rows.values()) == mean, (by, mean)
    assert rows.keys() == whole.keys(), (by, rows.keys() ^ whole.keys())
    for name, row in rows.items():
        assert abs(row["self_ns"] - own.get(name, 0) / weight) < 1, (by, name)
        assert abs(row["inclusive_ns"] - whole[name] / weight) <= 1, (by, name)
        assert row["self_ns"] <= row["inclusive_ns"] <= mean, (by, name)
    selves = [row["self_ns"] for row in report["rows"]]
    assert selves == sorted(selves, reverse=True)
print("as summed")
END_OF_CHECK
for log in experiment few traced drags; do
    make_log $log >$log.cptlog && echo "$log" && python3 check.py $log.cptlog
done
