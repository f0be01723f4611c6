# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
"""web_sliders.py - asks the page of sliders as a form without scripts does, for web_sliders.sh

    web_sliders.py spans FILE                  writes spans, some names of which are hostile
    web_sliders.py ask ADDRESS CPT FOLDER SWEEP
"""
import html.parser
import json
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

HOSTILE = 'x"><script>alert(1)</script>;\\\x07=50% <queue>'
TERMS = ["set front: *=-50%", "set cart: *=+1us", "set db: *=99.99%", "cut front: / -> db: get", "set *: *=-50%"]


def spans(path):
    """front computes 300 us beside its call of cart, which spans do not tell, then calls
    cart*, db, and a service with a hostile name one after the other."""
    with open(path, "w", encoding="utf-8") as file:
        for i in range(1, 81):
            took = 200 + i % 8 * 40
            calls = [("cart", 100, took)]
            at = 100 + max(took, 300) + 50
            for service, least, more, prime in (("cart*", 200, 401, 7919), ("db", 300, 307, 104729), (HOSTILE, 100, 503, 1299709)):
                calls.append((service, at, least + i * prime % more))
                at += calls[-1][2] + 50
            trace = "%032x" % i
            rows = [{"spanID": "1", "operationName": "/", "processID": "p0", "startTime": i * 1000000, "duration": at}]
            rows += [{"spanID": str(k + 2), "operationName": "get", "processID": "p%d" % (k + 1), "startTime": i * 1000000 + start,
                      "duration": duration, "references": [{"refType": "CHILD_OF", "spanID": "1", "traceID": trace}]}
                     for k, (_, start, duration) in enumerate(calls)]
            for row in rows:
                row.update(traceID=trace, tags=[{"key": "span.kind", "value": "server"}])
            names = ["front"] + [service for service, _, _ in calls]
            processes = {"p%d" % k: {"serviceName": name} for k, name in enumerate(names)}
            file.write(json.dumps({"data": [{"traceID": trace, "processes": processes, "spans": rows}]}) + "\n")


class Page(html.parser.HTMLParser):
    """The rows of tables as lists of texts, the fields of the form, paragraphs, scripts."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.fields, self.paragraphs, self.verdict, self.scripts = [], [], [], [], 0
        self.into = None
        self.in_verdict = False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.into = self.rows[-1]
        elif tag == "p":
            self.paragraphs.append("")
            self.into = self.paragraphs
            if self.in_verdict:
                self.verdict.append(len(self.paragraphs) - 1)
        elif tag == "input" and given.get("name"):
            self.fields.append((given["name"], given["value"]))
        elif tag == "script":
            self.scripts += 1
        elif tag == "br" and self.into:
            self.into[-1] += "\n"
        elif tag == "div":
            self.in_verdict = given.get("class") == "verdict"

    def handle_endtag(self, tag):
        if tag in ("td", "th", "p"):
            self.into = None
        elif tag == "div":
            self.in_verdict = False

    def handle_data(self, data):
        if self.into:
            self.into[-1] += data

    def row(self, name):
        return next(row for row in self.rows if row and row[0] == name)

    def words(self):
        return [self.paragraphs[at] for at in self.verdict]


def check(holds, *what):
    if not holds:
        sys.exit("FAIL: " + " ".join(str(word) for word in what))


def ms(ns):
    return "%.3f" % (ns / 1e6)


def ask(address, *parameters):
    query = urllib.parse.urlencode(parameters, encoding="utf-8", errors="surrogateescape")
    with urllib.request.urlopen(address + "/whatif?" + query, timeout=60) as answer:
        return Page(answer.read().decode())


def cell_of(number_ns, could_be, verdict, sign=""):
    number = "cannot tell" if verdict == "cannot_tell" else sign + ms(number_ns)
    return "%s\ncould be %s to %s" % (number, ms(could_be["low_ns"]), ms(could_be["high_ns"]))


def near(cell, wanted):
    """The same words, and numbers but for the last digit."""
    ours, others = cell.split(), wanted.split()
    return len(ours) == len(others) and all(
        one == other or abs(float(one) - float(other)) < 0.0015 for one, other in zip(ours, others))


def shown(name):
    """As names are printed."""
    return "".join("\\x%02x" % ord(byte) if byte < " " or byte in ";\\" else byte for byte in name)


def check_sliders(address, sweep):
    """Each slider has what half of its service gives, and moved there it gives that."""
    page = ask(address)
    names = [name[len("share:"):] for name, _ in page.fields]
    check(names == [shown(row["name"]) for row in sweep["sweep"]][:12], names)
    check(page.rows[0][:3] == ["service", "path ms", "half of it gives ms"], page.rows[0])
    check(not page.verdict, "a verdict without terms", page.words())
    verdicts = set()
    for name, gain in zip(names, sweep["sweep"]):
        row = page.row(name)
        check(near(row[2], cell_of(gain["mean_gain_ns"], gain["could_be"], gain["verdict"])), row, gain)
        moved = ask(address, *[(field, "50" if field == "share:" + name else value) for field, value in page.fields])
        check(moved.fields == [(field, "50" if field == "share:" + name else value) for field, value in page.fields], moved.fields)
        less = {"low_ns": -gain["could_be"]["high_ns"], "high_ns": -gain["could_be"]["low_ns"]}
        mean = moved.row("mean")
        check(near(mean[3], cell_of(-gain["mean_gain_ns"], less, gain["verdict"])), mean, gain)
        check((mean[2] == "") == (gain["verdict"] == "cannot_tell"), mean)
        check(moved.scripts == 1, "markup", name)
        verdicts.add(gain["verdict"])
    check("cannot_tell" in verdicts and len(verdicts) > 1, verdicts)
    check("cart*: *" in names and any("alert(1)" in name for name in names), names)


def check_words(address, cpt, folder):
    """The words are those of the command; also where there is no number."""
    seen = set()
    for term in TERMS:
        verb, rest = term.split(" ", 1)
        done = subprocess.run([cpt, "whatif", "--" + verb, rest, folder], capture_output=True, text=True, check=True)
        lines = [line for line in done.stdout.splitlines() if ": " in line and not line.startswith(" ")]
        page = ask(address, ("terms", term))
        answer = json.load(urllib.request.urlopen(address + "/api/whatif?" + urllib.parse.urlencode({"term": term}), timeout=60))
        mean = answer["latency"]["mean"]
        begin = {"number": "The mean changes by %s ms, nearly so" % ms(mean["change_ns"]),
                 "interval": "The mean changes by %s to %s ms" % (ms(mean["could_be"]["low_ns"]), ms(mean["could_be"]["high_ns"])),
                 "cannot_tell": "The mean may change by %s to %s ms." % (ms(mean["could_be"]["low_ns"]), ms(mean["could_be"]["high_ns"])),
                 "nothing": "nothing: the mean changes by less than 0.5%"}[mean["verdict"]]
        check(page.words()[0].startswith(begin), term, page.words(), mean)
        for line in lines:
            check(line in page.paragraphs, term, repr(line), page.paragraphs)
        if mean["verdict"] == "cannot_tell":
            check(any(line.startswith("cannot tell: ") for line in lines), lines)
            check("cut" in term or any("requests do not tell" in line for line in lines), lines)
        seen.add(mean["verdict"])
    check({"cannot_tell", "nothing"} <= seen and seen & {"interval", "number"}, seen)


def check_names(address):
    """What is no slider is a term, as before; a slider's name with '*' moves it alone."""
    alone = ask(address, ("share:cart*: *", "0")).row("mean")
    both = ask(address, ("terms", "set cart*: *=0")).row("mean")
    check(alone[3] != both[3], alone, both)
    check(ask(address, ("share:*: *", "0")).row("mean")[3] == ask(address, ("terms", "set *: *=0")).row("mean")[3], "a pattern")
    for name, value in (("share:Q: *", "50"), ("share:cart*: *", "201"), ("share:cart*: *", "5x"), ("share:", "50")):
        try:
            ask(address, (name, value))
        except urllib.error.HTTPError as error:
            check(error.code == 400, name, error.code)
            continue
        check(False, name, value, "is taken")


def main(what, *arguments):
    if what == "spans":
        spans(*arguments)
        return
    address, cpt, folder, sweep = arguments
    with open(sweep, encoding="utf-8") as file:
        check_sliders(address, json.load(file))
    check_words(address, cpt, folder)
    check_names(address)


if __name__ == "__main__":
    main(*sys.argv[1:])
