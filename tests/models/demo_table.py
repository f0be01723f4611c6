# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""
demo_table.py CPT EXAMPLES [--requests N] [--check FILE]

What `cpt whatif` says of spans of the demo's services that do not tell their waits, beside
what it says of the same spans with their notes, which is exact. The three services of
EXAMPLES run for real, with and without random times, and their pages are asked for; then
each service is made faster or slower. Printed are one row for each change (what came true,
the number, what it could be, the verdict) and a table: figure, demanded, reached. A figure
that is not reached is an error. With --check the demanded figures must be in FILE
(docs/whatif.md); the others vary, as the run is real. Only the standard library is needed.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor

VARIANTS = (("/", 0), ("/", .2), ("/", .5), ("/?page=search", .3),  # page, sigma of --jitter
            ("/overlap", 0), ("/overlap", .2), ("/overlap", .5))
SHARES = ("=-50%", "=-20%", "=0", "=+50%")
# Per page of A: operations that a request visits once, and the task that such a visit begins
# with. +10ms is added at the beginning of a visit, of spans with notes at that of a task.
ONCE = {"/": {"A: /": "A: A1", "B: /B1": "B: B1", "C: /C2": "C: C2"},
        "/overlap": {"A: /overlap": "A: A1", "B: /B1": "B: B1", "C: /C1": "C: C1"}}
TELLING = ("cpt.", "critical_path.")  # attributes by which spans tell their waits
REQUESTS_AT_ONCE = 2
END_S = 20
FAINT = .5  # % of the latency: the truth may be as far from the interval
# Without B: what does A compute meanwhile? Other work on the machine delays B now and then,
# by which it can be told: the question is for runs of this latency. It would be 27 ms.
CANNOT_TELL = ("/overlap", "B: *=0")
QUIET_NS = 36e6


# --- The services ---


def start(options, folder, letter, sigma, arguments):
    """Service @letter of the demo."""
    return subprocess.Popen(
        [os.path.join(options.examples, "figure1_" + letter), "--jitter", str(sigma), "--spans",
         os.path.join(folder, letter + ".jsonl"), *arguments], stdout=subprocess.PIPE, text=True)


def address_of(service):
    found = re.match(r"\w (http\S+)", service.stdout.readline())
    if not found:
        sys.exit("a service does not start")
    return found.group(1)


def end(service):
    service.terminate()
    try:
        service.wait(END_S)
    except subprocess.TimeoutExpired:
        service.kill()
        service.wait()


def ask(address):
    with urllib.request.urlopen(address, timeout=60) as answer:
        answer.read()


def run(options, folder, page, sigma):
    """Starts the services, asks for @page, ends them: their spans are in @folder."""
    services = []
    try:
        arguments = []
        for letter in "cba":
            services.append(start(options, folder, letter, sigma,
                                  arguments + ["--probability", "1"]))
            arguments += ["--" + letter, address_of(services[-1])]
        address = arguments[-1] + page + ("&" if "?" in page else "?") + "n="
        with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
            list(pool.map(ask, (address + str(i) for i in range(options.requests))))
    finally:
        for service in reversed(services):
            end(service)


def write_both(folder):
    """The spans of all services in one file, and in another one without their notes."""
    names = [os.path.join(folder, name) for name in ("noted.jsonl", "plain.jsonl")]
    with open(names[0], "w", encoding="utf-8") as noted, \
            open(names[1], "w", encoding="utf-8") as plain:
        for letter in "abc":
            with open(os.path.join(folder, letter + ".jsonl"), encoding="utf-8") as lines:
                for line in lines:
                    noted.write(line)
                    told = json.loads(line)
                    for span in (span for resource in told["resourceSpans"]
                                 for scope in resource["scopeSpans"] for span in scope["spans"]):
                        span["attributes"] = [
                            attribute for attribute in span.get("attributes", [])
                            if not attribute["key"].startswith(TELLING)]
                    plain.write(json.dumps(told) + "\n")
    return names


# --- The changes ---


def changes_of(page):
    """Terms for spans with notes, and the term for those without. In these, what a step waits
    for a worker is own time of its service, and what a call waits on its way is network."""
    for service, queue in (("A", "A: <queue>"), ("B", "B: B* <queue>"), ("C", "C: C* <queue>")):
        for share in SHARES:
            yield [service + ": *" + share, queue + share], service + ": *" + share
    for operation, task in ONCE[page.split("?")[0]].items():
        yield [task + "=+10ms"], operation + "=+10ms"
    yield ["*: <network>=0", "B: /* <queue>=0", "C: /* <queue>=0"], "*: <network>=0"


def mean_of(options, terms, name):
    """What the terms do to the mean latency."""
    done = subprocess.run([options.cpt, "whatif", "--json",
                           *(word for term in terms for word in ("--set", term)), name],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["latency"]["mean"]


def judge(options, variant, names, terms, plain_term):
    """A change, in % of the latency: what comes true, and what is said of plain spans."""
    exact = mean_of(options, terms, names[0])
    said = mean_of(options, [plain_term], names[1])
    share = 100 / exact["before_ns"]
    return {"variant": variant, "term": plain_term, "is_quiet": exact["before_ns"] < QUIET_NS,
            "exact": exact["change_ns"] * share, "number": said["change_ns"] * share,
            "low": said["could_be"]["low_ns"] * share,
            "high": said["could_be"]["high_ns"] * share, "verdict": said["verdict"]}


def holds(row):
    """Whether the interval and the number have what comes true between them."""
    return min(row["low"], row["number"]) - FAINT <= row["exact"] <= \
        max(row["high"], row["number"]) + FAINT


def quantile(values, share):
    return sorted(values)[int(share * (len(values) - 1))]


def figures_of(rows):
    """Figure, demanded, reached."""
    widths = [row["high"] - row["low"] for row in rows]
    errors = [abs(row["number"] - row["exact"]) for row in rows]
    said = [error for error, row in zip(errors, rows) if row["verdict"] != "cannot_tell"]
    asked = [row["verdict"] for row in rows
             if row["is_quiet"] and (row["variant"][0], row["term"]) == CANNOT_TELL]
    yield "changes", "≥ 100", len(rows)
    yield ("what came true is within interval and number, % of the changes", "≥ 95",
           100 * sum(map(holds, rows)) / len(rows))
    yield "width of the interval, median, % of the latency", "≤ 12", quantile(widths, .5)
    yield "width of the interval, p90, % of the latency", "≤ 35", quantile(widths, .9)
    yield "error of the number, median, % of the latency", "≤ 1", quantile(errors, .5)
    yield ("error of the number unless `cannot tell`, worst, % of the latency", "≤ 9",
           max(said, default=0))
    yield ("runs of `/overlap` without B that are not `cannot tell`", "≤ 0",
           sum(verdict != "cannot_tell" for verdict in asked))


def is_reached(demanded, reached):
    sign, number = demanded.split()
    return reached >= float(number) if sign == "≥" else reached <= float(number)


def print_row(row):
    print("%-13s %.1f  %-16s %8.2f %8.2f %8.2f %8.2f  %-11s %s" % (
        *row["variant"], row["term"], row["exact"], row["number"], row["low"], row["high"],
        row["verdict"], "" if holds(row) else "missed"))


def judge_all(options, folder):
    rows = []
    for number, variant in enumerate(VARIANTS):
        place = os.path.join(folder, str(number))
        os.makedirs(place, exist_ok=True)
        run(options, place, *variant)
        names = write_both(place)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            rows += pool.map(lambda change: judge(options, variant, names, *change),
                             changes_of(variant[0]))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cpt")
    parser.add_argument("examples")
    parser.add_argument("--requests", type=int, default=150)
    parser.add_argument("--check")
    options = parser.parse_args()
    text = ""
    if options.check:
        with open(options.check, encoding="utf-8") as file:
            text = file.read()
    with tempfile.TemporaryDirectory() as folder:
        rows = judge_all(options, folder)
    print("runs of /overlap that other work delays little: %d" % sum(
        row["is_quiet"] for row in rows if (row["variant"][0], row["term"]) == CANNOT_TELL))
    print("page          sigma change      exact %   number      low     high")
    for row in rows:
        print_row(row)
    faults = []
    for figure, demanded, reached in figures_of(rows):
        print("| %s | %s | %.1f |" % (figure, demanded, reached))
        if not is_reached(demanded, reached):
            faults.append("%s: %.1f is not %s" % (figure, reached, demanded))
        if options.check and "| %s | %s |" % (figure, demanded) not in text:
            faults.append("%s does not have: | %s | %s |" % (options.check, figure, demanded))
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
