# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
predict_check.py CPT MICROSERVICES LOG_USERS [--systems N] [--first I] [--check FILE]

What `cpt predict` says of simulated users, whose times differ by a factor of their own,
against a plain model of it that reads the records of the log. The rows are both errors
of all systems together. With --check they must be in FILE (docs/natural.md) as they are.
Only the standard library is needed.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

# the spread of the logarithms of the users' factors: how many users; the spread
ROWS = {
    "0: all alike": (40, 1e-6),
    "0.5": (40, .5),
    "1": (40, 1),
    "2": (40, 2),
}


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True,
                          text=True).stdout


def simulate(options, folder, number, users, spread):
    """A log of one system, with the users."""
    name = os.path.join(folder, "log")
    words = dict(system=number, run=2 * number, place=number, rate=5, requests=800,
                 tenants=users, tenant_spread=spread)
    run(options.microservices, *("%s=%s" % word for word in words.items()),
        "out=%s.json" % name)
    run(options.cpt, "import", name + ".json", "-o", name + ".paths")
    with open(name + ".paths", "rb") as paths, open(name + ".cptlog", "wb") as log:
        subprocess.run([options.log_users], stdin=paths, stdout=log, check=True)
    return name + ".cptlog"


# --- The model ---

def student_quantile(degrees):
    """That of 0.975, by adding up the density."""
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2))
    scale /= math.sqrt(degrees * math.pi)
    density = lambda t: scale * (1 + t * t / degrees) ** (-(degrees + 1) / 2)
    t, area, step = 0, .5, 1e-4
    while area < .975:
        area += step * density(t + step / 2)
        t += step
    return t


def model_error(users, predicted):
    """The error of predictions that were `predicted`: of requests that were not."""
    pairs = [[(a, b) for a, b in zip(user, user[1:]) if b != predicted] for user in users]
    pairs = [user for user in pairs if user]
    of = [len(user) for user in pairs]
    wrong = [sum(a == predicted for a, _ in user) for user in pairs]
    error = dict(wrong=sum(wrong), of=sum(of), low=None, high=None)
    if 0 < error["wrong"] < error["of"] and len(of) > 1:
        share = error["wrong"] / error["of"]
        squares = sum((w - share * n) ** 2 for w, n in zip(wrong, of))
        deviation = math.sqrt(len(of) / (len(of) - 1) * squares) / error["of"]
        width = student_quantile(len(of) - 1) * deviation
        error.update(low=max(0, share - width), high=min(1, share + width))
    return error


def model(records, threshold_ns):
    users = {}
    for record in sorted(records, key=lambda record: record["start_unix_ns"]):
        users.setdefault(record["meta"]["user"], []).append(
            record["latency_ns"] > threshold_ns)
    return list(users.values())


def expect(what, found, expected, digits=None):
    same = found == expected if digits is None or None in (found, expected) \
        else abs(found - expected) < digits
    if not same:
        sys.exit("%s: %r, but the model has %r" % (what, found, expected))


def check(options, log):
    """Compares a log with the model; both errors as counts."""
    records = [json.loads(line) for line in run(options.cpt, "log", "--json", log).splitlines()]
    latencies = sorted(record["latency_ns"] for record in records)
    threshold_us = latencies[len(latencies) * 3 // 4] // 1000
    users = model(records, threshold_us * 1000)
    answer = json.loads(run(options.cpt, "predict", "--json", "--key", "user",
                            "--threshold", "%dus" % threshold_us, log))
    expect("requests", answer["requests"], len(records))
    expect("keys", answer["key_count"], len(users))
    expect("above", answer["above_share"], sum(map(sum, users)) / len(records), 1e-6)
    expect("predicted", answer["predicted"], len(records) - len(users))
    counts = []
    for error, predicted in zip(answer["errors"], (True, False)):
        expected = model_error(users, predicted)
        for field in ("wrong", "of"):
            expect(field, error[field], expected[field])
        for field in ("low", "high"):
            expect(field, error[field], expected[field], 1e-3)
        counts += [error["wrong"], error["of"]]
    last = {key["key"]: key["class"] for key in answer["keys"]}
    above = sum(user[-1] for user in users)
    expect("classes", sum(word == "above" for word in last.values()), above)
    return counts


def line(options, row, systems):
    users, spread = ROWS[row]
    sums = [0] * 4
    for number in systems:
        with tempfile.TemporaryDirectory() as folder:
            counts = check(options, simulate(options, folder, number, users, spread))
        sums = [a + b for a, b in zip(sums, counts)]
    return "| %s | %.0f %% | %.0f %% |" % (row, 100 * sums[0] / sums[1],
                                           100 * sums[2] / sums[3])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cpt")
    parser.add_argument("microservices")
    parser.add_argument("log_users")
    parser.add_argument("--systems", type=int, default=6)
    parser.add_argument("--first", type=int, default=300)
    parser.add_argument("--check")
    options = parser.parse_args()
    expected = open(options.check, encoding="utf-8").read() if options.check else None
    is_wrong = False
    for row in ROWS:
        text = line(options, row, range(options.first, options.first + options.systems))
        is_missing = expected is not None and text not in expected
        is_wrong |= is_missing
        print(text + (" <- not in %s" % options.check if is_missing else ""), flush=True)
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
