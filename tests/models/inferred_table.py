# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
inferred_table.py CPT PROGRAMS [--seeds N] [--check FILE]

How many changes of -50 % of a service `cpt whatif` predicts within 10 % from plain spans of
systems whose programs are known, which PROGRAMS makes (span_systems.py): with waits that are
learnt, and by the rule of the walk. With --check the rows must be in FILE (docs/whatif.md).
What is learnt must be right in 87 % of all changes without pools, and in no kind of system
may the walk be right in more than two others. Only the standard library is needed.
"""
import argparse
import sys

from span_systems import POOLS, STYLES, over_systems, skip_without, whatif

WAITS = ("learnt", "walk")
NEAR = .1      # of the true change
LEAST = {None: .87, "async": .68, "hedge": .9, "cache": .95}  # learnt, without pools
FEWER = 2      # changes that the walk may have more, in a kind


def judge(options, system):
    """Whether each change of -50 % of this system is predicted, by each rule."""
    return [[abs(whatif(options.cpt, system.spans, change["term"], waits)["change_ns"] -
                 change["change_ns"]) <= NEAR * abs(change["change_ns"])
             for waits in WAITS]
            for change in system.changes("half")]


def row_of(words, judged):
    """A row of the table: how many changes there are, and are right, by each rule."""
    return "| %s | %d | %d | %d |" % (words, len(judged), *map(sum, zip(*judged)))


def faults_of(style, judged):
    learnt, walk = map(sum, zip(*judged))
    if learnt < LEAST.get(style, 0) * len(judged):
        yield "%s: %d of %d are not enough" % (style or "all", learnt, len(judged))
    if learnt + FEWER < walk:
        yield "%s: the walk has %d, what is learnt %d" % (style or "all", walk, learnt)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cpt")
    parser.add_argument("programs")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--check")
    options = parser.parse_args()
    skip_without(options.programs)
    systems = [(style, seed) for style in STYLES for seed in range(1, options.seeds + 1)]
    judged = over_systems(options.programs, systems, lambda system: judge(options, system))
    text = ""
    if options.check:
        with open(options.check, encoding="utf-8") as file:
            text = file.read()
    faults = []
    rows = []
    for style in (*STYLES, None):
        all_of = [good for system, goods in zip(systems, judged) for good in goods
                  if style == system[0] or (style is None and system[0] != POOLS)]
        rows.append(row_of(STYLES.get(style, "all but pools"), all_of))
        faults += faults_of(style, all_of)
    print("\n".join(rows))
    if options.check:
        faults += ["%s does not have: %s" % (options.check, row) for row in rows if row not in text]
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
