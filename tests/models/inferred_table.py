# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
inferred_table.py CPT PROGRAMS [--seeds N] [--check FILE]

How many changes of -50 % of a service `cpt whatif` predicts within 10 % from plain spans of
systems whose programs are known. PROGRAMS is a generator of such systems, called as
`PROGRAMS STYLE SEED FOLDER`: it writes spans.json and truth.json, in which are the mean
latency and, for each change, a term of cpt whatif and the true change. It is no part of
this project: where it is absent, the test is skipped (77). With --check the counts must be
in FILE (docs/import.md). Only the standard library is needed.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

STYLES = ("seq", "par", "limited", "async", "background", "branches", "cache", "retry", "hedge",
          "queue", "mixed", "modes")
NEAR = .1      # of the true change
FAINT = .005   # of the latency: smaller changes are not asked for
SENTENCES = {None: "%d of %d changes of `-50%%` of a service", "async": "%d of %d where parents compute",
             "retry": "%d of %d with retries", "queue": "%d of %d with pools"}


def predicted_ns(options, spans, term):
    done = subprocess.run([options.cpt, "whatif", "--json", "--set", term, spans],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["latency"]["mean"]["change_ns"]


def judge(options, style, seed):
    """Whether each change of -50 % of this system is predicted."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, options.programs, style, str(seed), folder], check=True,
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "truth.json"), encoding="utf-8") as file:
            truth = json.load(file)
        return [abs(predicted_ns(options, os.path.join(folder, "spans.json"), change["term"]) -
                    change["change_ns"]) <= NEAR * abs(change["change_ns"])
                for change in truth["changes"]
                if change["term"].endswith("=-50%") and
                abs(change["change_ns"]) > FAINT * truth["mean_ns"]]


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
    missing = 0
    text = ""
    if options.check:
        with open(options.check, encoding="utf-8") as file:
            text = re.sub(r"\s+", " ", file.read())
    for style in (*STYLES, None):
        all_of = [good for system, goods in zip(systems, judged) for good in goods
                  if style in (None, system[0])]
        counts = (sum(all_of), len(all_of))
        print("%-12s %3d of %3d" % (style or "all", *counts))
        if options.check and style in SENTENCES and SENTENCES[style] % counts not in text:
            print("%s does not say: %s" % (options.check, SENTENCES[style] % counts))
            missing += 1
    sys.exit(missing != 0)


if __name__ == "__main__":
    main()
