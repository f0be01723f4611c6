# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# inputs after bug reports of other tracers (CPT_TRACES: a folder with reports), if they are there
[ -d "$CPT_TRACES/reports" ] || { echo "no reports: set CPT_TRACES"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cat >check.py <<'END_OF_FILE'
import collections, glob, json, os, subprocess, sys

folder = os.path.join(os.environ["CPT_TRACES"], "reports")

def run(*command):
    return subprocess.run(["cpt", *command], capture_output=True, text=True)

def files(names):
    return [glob.glob(os.path.join(folder, "case-%s.*" % name))[0] for name in names.split()]

def check(names, expected, code=0, says=""):
    """The time of each frame by itself, in ms, of all files of one case."""
    out = run("import", "-o", "x.cptlog", *files(names))
    found = {}
    if os.path.exists("x.cptlog"):
        for line in run("folded", "x.cptlog").stdout.splitlines():
            stack, amount = line.rsplit(" ", 1)
            frame = stack.split(";")[-1]
            found[frame] = found.get(frame, 0) + int(amount) / 1e6
        os.unlink("x.cptlog")
    if out.returncode != code or found != expected or says not in out.stderr:
        print(names, "exit", out.returncode, found, out.stderr)

front = {"front: GET /": 50, "cart: add": 50}
index = {"front: GET /": 20, "cart: add": 60, "cart: ‹network+serialization›": 20}
for names in ("50", "50b", "50c"):
    check(names, index)
for names in ("07a 07b", "09", "02", "04"):
    check(names, front)
check("21", front, says="2 documents passed over")
check("40", {"front: get": 50, "cart: ‹blind spot›": 50}, says="1 pieces joined")
check("41b", {"front: get": 50, "cart: add": 50})
check("18b", {"front: x\ufffdy": 100}, says="U+FFFD")
check("18d", {"front: GET /": 1}, says="3 traces of 3 spans")
check("63", {"front: GET /": 80, "postgresql: ‹blind spot›": 20})
# a client's span that is more than one call, and many spans with one id
check("64", {"shop: checkout": 30, "cart: add": 30, "shop: write receipt": 40})
check("64b", {"shop: GET /": 20, "shop: checkout": 30, "cart: add": 30, "stock: reserve": 40})
check("61", {"front: get": 20, "front: call": 18, "policy: check": 2, "cart: add": 20, "cart: db": 40})
check("61b", {"front: get": 20, "cart: add": 65, "cart: ‹network+serialization›": 15})
check("42", {"front: get": 20, "front: call": 15, "front: encode": 5, "cart: add": 20, "cart: db": 40})
check("66", {"front: GET /": 2, "front: handler": 98}, says="1 traces are fragments, as their root is missing")
check("13b", {}, says="1 traces are fragments, as their root has no time")
check("11", {}, 1, "2 spans left out without a time")
check("67", {"front: GET /": 15, "front: query": 85})
check("45", {}, 1, "version 1 of Zipkin")
check("01", {}, 1, "resource_spans")

def check_mode(name, mode, expected):
    """The time of each span, in microseconds, as another tool has it."""
    out = run("import", "--sections", "--mode=" + mode, *files(name))
    own = collections.Counter()
    for section in json.loads(out.stdout)["sections"]:
        own[section["span_id"]] += section["end_us"] - section["start_us"]
    if own != expected:
        print(name, mode, dict(own))

check_mode("70", "jaeger-ui", {"1": 50, "2": 50})
check_mode("72", "crisp", {"1": 5, "2": 95})
check_mode("73", "crisp", {"1": 397, "3": 303, "4": 300})

# every case is read or refused, and what it gives adds up
count = 0
for path in sorted(glob.glob(os.path.join(folder, "case-*"))):
    out = run("import", "--sections", path)
    assert out.returncode in (0, 1), (path, out.returncode, out.stderr)
    for line in out.stdout.splitlines():
        trace = json.loads(line)
        at = trace["root_start_ns"]
        for section in trace["sections"]:
            assert section["start_ns"] == at < section["end_ns"], path
            at = section["end_ns"]
        assert at == trace["root_end_ns"], path
    count += 1
assert count > 0
END_OF_FILE
python3 check.py && echo "all as they should be"
