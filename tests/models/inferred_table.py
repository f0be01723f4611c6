# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
inferred_table.py CPT PROGRAMS [--seeds N] [--check FILE]

How many changes of -50 % of a service `cpt whatif` predicts within 10 % from plain spans of
systems whose programs are known: with waits that are learnt, and by the rule of the walk. PROGRAMS is a generator of such systems, called as
`PROGRAMS STYLE SEED FOLDER`: it writes spans.json and truth.json, in which are the mean
latency and, for each change, a term of cpt whatif and the true change. It is no part of
this project: where it is absent, the test is skipped (77). With --check the rows must be in
FILE (docs/whatif.md). What is learnt must be right in 87 % of all changes without pools, and
in no kind of system may the walk be right in more than two others. Only the standard library
is needed.
"""
import argparse
import json
import os
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
WAITS = ("learnt", "walk")
NEAR = .1      # of the true change
FAINT = .005   # of the latency: smaller changes are not asked for
LEAST = {None: .87, "async": .68, "hedge": .9, "cache": .95}  # learnt, without pools
FEWER = 2      # changes that the walk may have more, in a kind


def predicted_ns(options, spans, term, waits):
    done = subprocess.run([options.cpt, "whatif", "--json", "--waits", waits, "--set", term, spans],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["latency"]["mean"]["change_ns"]


def judge(options, style, seed):
    """Whether each change of -50 % of this system is predicted, by each rule."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, options.programs, style, str(seed), folder], check=True,
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
            truth = json.load(file)
        return [[abs(predicted_ns(options, os.path.join(folder, "spans.json"), change["term"],
                                  waits) - change["change_ns"]) <= NEAR * abs(change["change_ns"])
                 for waits in WAITS]
                for change in truth["changes"]
                if change["term"].endswith("=-50%") and
                abs(change["change_ns"]) > FAINT * truth["mean_ns"]]


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
    if not os.path.exists(options.programs):
        print("skipped: there is no generator of systems at %s" % options.programs)
        sys.exit(77)
    systems = [(style, seed) for style in STYLES for seed in range(1, options.seeds + 1)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        judged = list(pool.map(lambda system: judge(options, *system), systems))
    text = ""
    if options.check:
        with open(options.check, encoding="utf-8") as file:
            text = file.read()
    faults = []
    rows = []
    for style in (*STYLES, None):
        all_of = [good for system, goods in zip(systems, judged) for good in goods
                  if style == system[0] or (style is None and system[0] != "queue")]
        rows.append(row_of(STYLES.get(style, "all but pools"), all_of))
        faults += faults_of(style, all_of)
    print("\n".join(rows))
    if options.check:
        faults += ["%s does not have: %s" % (options.check, row) for row in rows if row not in text]
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
