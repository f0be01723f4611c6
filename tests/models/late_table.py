# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
late_table.py CPT LATE_REQUESTS [--pairs N] [--first I] [--check FILE]

How often `cpt diff` finds a p99 that is 15 % later, and one that is as before, in logs
that a keep rule has left of 15,000 requests. With --check the rows must be in FILE
(tests/models/README.md) as they are. Only the standard library is needed.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

# name: what is kept
RULES = {
    "all": dict(share=1),
    "above p90, and 10 % of the others": dict(above=.9, share=.1),
    "above p95, and 10 % of the others": dict(above=.95, share=.1),
    "above p98, and 10 % of the others": dict(above=.98, share=.1),
    "above p98, and 1 % of the others": dict(above=.98, share=.01),
}
CONDITIONS = ("--fail-if", "quantile > +0% at q<0.05", "--fail-if", "quantile < -0% at q<0.05")
FOUND = 3  # the exit status if a condition holds


def is_found(options, rule, factor, number):
    """Whether the two logs of pair @number differ."""
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, side) for side in ("base.cptlog", "new.cptlog")]
        for side, name in enumerate(names):
            words = dict(rule, seed=2 * number + side, factor=factor if side else 1)
            with open(name, "wb") as log:
                subprocess.run([options.late_requests] + ["%s=%s" % w for w in words.items()],
                               check=True, stdout=log)
        done = subprocess.run([options.cpt, "diff", "--quantile", "p99", *CONDITIONS, *names],
                              capture_output=True, text=True)
    if done.returncode not in (0, FOUND):
        sys.exit(done.stderr)
    return done.returncode == FOUND


def line(options, rule):
    counts = []
    for factor in (1.15, 1):
        with ThreadPoolExecutor(2) as pool:
            numbers = range(options.first, options.first + options.pairs)
            counts.append(sum(pool.map(lambda number: is_found(
                options, RULES[rule], factor, number), numbers)))
    return "| %s | %d | %d |" % (rule, *counts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cpt")
    parser.add_argument("late_requests")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--check")
    options = parser.parse_args()
    expected = open(options.check, encoding="utf-8").read() if options.check else None
    is_wrong = False
    for rule in RULES:
        text = line(options, rule)
        is_missing = expected is not None and text not in expected
        is_wrong |= is_missing
        print(text + (" <- not in %s" % options.check if is_missing else ""), flush=True)
    return 1 if is_wrong else 0


sys.exit(main())
