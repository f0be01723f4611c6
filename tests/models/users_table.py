# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
users_table.py CPT MICROSERVICES LOG_USERS [--systems N] [--first I] [--check FILE]

What `cpt culprit` says of two arms of one time, to which users were drawn, with
--cluster user and without. With --check the rows must be in FILE (docs/culprit.md) as
they are. Only the standard library is needed.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

# name: how many users; what is wrong in the new arm
ROWS = {
    "20 users": (20, {}),
    "100 users": (100, {}),
    "20 users, CPU ×3": (20, dict(fault="cpu", factor=3)),
    "100 users, CPU ×3": (100, dict(fault="cpu", factor=3)),
}


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True,
                          text=True).stdout


def simulate(options, folder, number, arm, words):
    """The requests of one arm, with their users. Its name, and the service at fault."""
    name = os.path.join(folder, "%d" % arm)
    words = dict(words, system=number, run=2 * number, place=number, rate=5, requests=800,
                 tenant_spread=.5, arms=number, arm=arm)
    truth = run(options.microservices, *("%s=%s" % word for word in words.items()),
                "out=%s.json" % name).split()[0]
    run(options.cpt, "import", name + ".json", "-o", name + ".paths")
    with open(name + ".paths", "rb") as paths, open(name + ".cptlog", "wb") as log:
        subprocess.run([options.log_users], stdin=paths, stdout=log, check=True)
    return name + ".cptlog", truth


def judge(options, row, number):
    """Of one system, with --cluster and without: is a service at fault sure, is another
    one, is there a hint."""
    users, fault = ROWS[row]
    with tempfile.TemporaryDirectory() as folder:
        base, _ = simulate(options, folder, number, 1, dict(tenants=users))
        new, truth = simulate(options, folder, number, 2, dict(fault, tenants=users))
        answers = [json.loads(run(options.cpt, "culprit", "--json", *words, base, new))
                   for words in (["--cluster", "user"], [])]
    counts = []
    for answer in answers:
        named = [s["service"] for s in answer["services"] if s["culprit"]]
        counts += [bool(fault) and truth in named,
                   any(not fault or service != truth for service in named)]
    return counts + ["hint_cluster" in answers[1]]


def line(options, row, systems):
    with ThreadPoolExecutor(2) as pool:
        counts = pool.map(lambda number: judge(options, row, number), systems)
        return "| %s | %s |" % (row, " | ".join(str(sum(column)) for column in zip(*counts)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cpt")
    parser.add_argument("microservices")
    parser.add_argument("log_users")
    parser.add_argument("--systems", type=int, default=60)
    parser.add_argument("--first", type=int, default=300)
    parser.add_argument("--check")
    options = parser.parse_args()
    expected = open(options.check, encoding="utf-8").read() if options.check else None
    systems = range(options.first, options.first + options.systems)
    is_wrong = False
    for row in ROWS:
        text = line(options, row, systems)
        is_missing = expected is not None and text not in expected
        is_wrong |= is_missing
        print(text + (" <- not in %s" % options.check if is_missing else ""), flush=True)
    return 1 if is_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
