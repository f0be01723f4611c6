# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
inferred_figures.py CPT PROGRAMS [--seeds N] [--styles STYLE,…] [--spans N]

How right cpt is about plain spans of systems whose programs are known, which PROGRAMS makes
(span_systems.py): a row for each figure, with what is demanded and what was reached, over all
systems of the seeds 1 to N, and all styles but pools. Of each system the slack and drag of N
spans are asked for, each alone in a request that is selected by its id. A figure that cpt does
not print is "absent", which is a fault, too.

A change is right if it is predicted within 10 %; it *holds* the truth if the hull of its
interval and its number does, or is no more than 0.5 % of the latency off. Changes of less than
that are not asked for. Only the standard library is needed.
"""
import argparse
import json
import os
import sys

from span_systems import (FAINT, POOLS, STYLES, in_milliseconds, kind_of, of_servers_alone,
                          over_systems, said_by, skip_without, tag_of, whatif, with_clocks)

NEAR = .1       # of the true change: right
FAR = .25       # of it: far off
BEST = .05      # of the best change: as good as that
CLOSE = .05     # of the request: slack and drag
SKEW_US = 3000
VIEWS = {"plain": ("half", "none", "network", "more"), "coarse": ("half",),
         "servers": ("half",), "skewed": ("half",)}


class Absent(Exception):
    """What is not printed by cpt."""


class Change:
    """A change that is predicted: what is true, and what cpt says."""

    def __init__(self, system, view, change, said):
        self.system = (system.style, system.seed)
        self.view = view
        self.kind = kind_of(change["term"])
        self.true_ns = change["change_ns"]
        self.mean_ns = system.mean_ns
        self.said = said

    def error(self):
        return abs(self.said["change_ns"] - self.true_ns) / abs(self.true_ns)

    def is_right(self):
        return self.error() <= NEAR

    def verdict(self):
        if "verdict" not in self.said:
            raise Absent
        return self.said["verdict"]

    def hull(self):
        if "could_be" not in self.said:
            raise Absent
        ends = (*self.said["could_be"].values(), self.said["change_ns"])
        return min(ends), max(ends)

    def holds(self):
        low, high = self.hull()
        return low - FAINT * self.mean_ns <= self.true_ns <= high + FAINT * self.mean_ns

    def width(self):
        low, high = self.hull()
        return (high - low) / abs(self.true_ns)

    def has_sign(self):
        return all(end * self.true_ns > 0 for end in self.hull())


# --- Asking cpt ---

def files_of(system):
    """A file of spans for each view."""
    return {"plain": system.spans,
            "coarse": system.view("coarse", in_milliseconds),
            "servers": system.view("servers", of_servers_alone),
            "skewed": system.view("skewed", with_clocks(system.seed, SKEW_US))}


def judge_spans(options, system):
    """For spans that are alone of their service in their request: what is said and true of
    their slack, and of the drag of their service, which is the gain of their frame."""
    with open(system.spans, encoding="utf-8") as file:
        traces = {trace["traceID"]: trace["spans"] for trace in json.load(file)["data"]}
    judged = []
    for span in system.truth.get("occurrences", []):
        alone = [one for one in traces[span["trace"]] if one["processID"] == span["service"] and
                 tag_of(one, "span.kind") == "server"]
        if len(alone) == 1 and len(judged) < options.spans:
            name = "%s: %s" % (span["service"], span["operation"])
            frames = said_by(options.cpt, "slack", "--json", "--trace", span["trace"],
                             system.spans)["frames"]
            judged += [dict(span, said=frame) for frame in frames
                       if frame["name"] == name and frame["kind"] == "work"]
    return judged


def judge(options, system):
    files = files_of(system)
    changes = [Change(system, view, change, whatif(options.cpt, files[view], change["term"]))
               for view, kinds in VIEWS.items() for change in system.changes(*kinds)]
    return changes, judge_spans(options, system)


# --- Figures: each is a list of numbers, or of whether something is so ---

def is_far(change):
    return change.verdict() != "cannot_tell" and change.error() > FAR


def as_good_as_best(changes):
    """Of each system: whether the change that is said to give most does nearly so."""
    systems = {}
    for change in changes:
        systems.setdefault(change.system, []).append(change)
    return [min(all_of, key=lambda change: change.said["change_ns"]).true_ns <=
            (1 - BEST) * min(change.true_ns for change in all_of)
            for all_of in systems.values()]


def is_close(said_ns, true_ns, span):
    """No slack is said of what the response did not wait for: it is the whole latency."""
    said_ns = span["latency_ns"] if said_ns is None else said_ns
    return abs(said_ns - true_ns) <= CLOSE * span["latency_ns"]


def rows_of(changes, spans):
    """Words, whether it is a most or a least value, what it is, and the numbers: a function
    for what may be absent. Shares are of numbers that are true; others have a quantile."""
    def of(view, kind="half"):
        return [change for change in changes if change.view == view and change.kind == kind]

    half = of("plain")
    wrong = [change for change in changes
             if change.view == "plain" and not change.is_right()]
    skewed = of("skewed")
    points = sum(change.is_right() for change in half) / max(len(half), 1) - .03

    def each(test, asked):
        return lambda: [test(change) for change in asked]

    def is_right(change):
        return change.is_right()

    def said(verdict):
        return each(lambda change: change.verdict() == verdict, half)

    yield "-50 %: right", ">=", .87, each(is_right, half)
    yield "-50 %: error of the latency, p90", "<=", .004, (.9, each(
        lambda change: change.error() * abs(change.true_ns) / change.mean_ns, half))
    yield "= 0: right", ">=", .83, each(is_right, of("plain", "none"))
    yield "network = 0: right", ">=", .85, each(is_right, of("plain", "network"))
    yield "+10 ms: right", ">=", .9, each(is_right, of("plain", "more"))
    yield "-50 %: holds", ">=", .97, each(Change.holds, half)
    yield "= 0: holds", ">=", .95, each(Change.holds, of("plain", "none"))
    yield "+10 ms: holds", ">=", .95, each(Change.holds, of("plain", "more"))
    yield "all that are not right: hold", ">=", .8, each(Change.holds, wrong)
    yield "-50 %: width of the change, median", "<=", .25, (.5, each(Change.width, half))
    yield "-50 %: width of the change, p90", "<=", .9, (.9, each(Change.width, half))
    yield "-50 %: said as a number", ">=", .25, said("number")
    yield "-50 %, said as a number: right", ">=", .93, lambda: [
        change.is_right() for change in half if change.verdict() == "number"]
    yield "-50 %: cannot tell", "<=", .25, said("cannot_tell")
    yield "-50 %: can tell, and is wrong by a quarter", "<=", .03, each(is_far, half)
    yield "stamps of 1 ms, -50 %: right", ">=", .78, each(is_right, of("coarse"))
    yield "stamps of 1 ms, -50 %: holds", ">=", .96, each(Change.holds, of("coarse"))
    yield "stamps of 1 ms, -50 %: width, median", "<=", .65, (.5, each(
        Change.width, of("coarse")))
    yield "servers alone, -50 %: holds", ">=", .92, each(Change.holds, of("servers"))
    yield "servers alone, -50 %: width, median", "<=", .9, (.5, each(
        Change.width, of("servers")))
    yield "servers alone, -50 %: both ends have its sign", ">=", .75, each(
        Change.has_sign, of("servers"))
    yield "clocks ±3 ms, -50 %: right", ">=", points, each(is_right, skewed)
    yield "the best fix is as good as any", ">=", .85, lambda: as_good_as_best(half)
    yield "slack is close", ">=", .9, lambda: [
        is_close(span["said"]["slack_ns"], span["slack_ns"], span) for span in spans]
    yield "gain is close", ">=", .95, lambda: [
        is_close(span["said"]["gain_ns"], span["drag_ns"], span) for span in spans]
    yield "no slack is said as none", ">=", .97, lambda: [
        not span["said"]["slack_ns"] for span in spans if span["slack_ns"] == 0]


def reached(numbers):
    """The share, or the quantile, and of how many; None: it is absent, or of nothing."""
    quantile, find = numbers if isinstance(numbers, tuple) else (None, numbers)
    try:
        found = sorted(find())
    except Absent:
        return None, 0
    if not found:
        return None, 0
    if quantile is not None:
        return found[min(int(quantile * len(found)), len(found) - 1)], len(found)
    return sum(found) / len(found), len(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cpt")
    parser.add_argument("programs")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--styles", default=",".join(style for style in STYLES if style != POOLS))
    parser.add_argument("--spans", type=int, default=45)
    options = parser.parse_args()
    skip_without(options.programs)
    systems = [(style, seed) for style in options.styles.split(",")
               for seed in range(1, options.seeds + 1)]
    judged = over_systems(options.programs, systems, lambda system: judge(options, system),
                          "--occurrences")
    changes = [change for some, _ in judged for change in some]
    spans = [span for _, some in judged for span in some]
    faults = []
    print("| figure | demanded | reached | of |\n|---|---|---|---|")
    for words, relation, bound, numbers in rows_of(changes, spans):
        value, count = reached(numbers)
        print("| %s | %s %.1f %% | %s | %d |" % (
            words, relation, 100 * bound,
            "absent" if value is None else "%.1f %%" % (100 * value), count))
        if value is None:
            faults.append("%s: absent" % words)
        elif value < bound if relation == ">=" else value > bound:
            faults.append("%s: %.1f %% is not %s %.1f %%" % (words, 100 * value, relation,
                                                             100 * bound))
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
