# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# published traces (CPT_TRACES: a folder with jaeger/crisp and others), if they are there
[ -d "$CPT_TRACES/jaeger/crisp" ] || { echo "no published traces: set CPT_TRACES"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
# of the folders whose JSON is spans
for folder in faults jaeger otlp zipkin; do
    [ ! -d "$CPT_TRACES/$folder" ] ||
        find "$CPT_TRACES/$folder" -name '*.json' -o -name '*.json.gz'
done | grep -v truth.json | sort >files
tests=$(cd "$(dirname "$0")/.." && pwd)
export tests
cat >check.py <<'END'
import collections, gzip, json, os, subprocess, sys

def sections(path, mode):
    out = subprocess.run(["cpt", "import", "--sections", "--mode=" + mode, path],
                         capture_output=True, text=True)
    assert out.returncode == 0, (path, out.stderr)
    return [json.loads(line) for line in out.stdout.splitlines()]

count = 0
for path in open("files").read().split():
    for mode in ("exact", "jaeger-ui"):
        for trace in sections(path, mode):
            at = trace["root_start_us"]
            for section in trace["sections"]:
                assert section["start_us"] == at, (path, trace["trace_id"])
                at = section["end_us"]
            assert at == trace["root_end_us"], (path, trace["trace_id"])
            count += 1
    if "/crisp/" in path:
        given = json.load(open(path))
        expected = given["testing"]
        expected = expected[0] if isinstance(expected, list) else expected
        expected = expected.get("opTimeExclusive", expected)
        spans = {s["spanID"]: s for s in given["data"][0]["spans"]}
        services = given["data"][0]["processes"]
        found = collections.Counter()
        for section in sections(path, "crisp")[0]["sections"]:
            span = spans[section["span_id"]]
            name = "[%s] %s" % (services[span["processID"]]["serviceName"],
                                span["operationName"])
            found[name] += section["end_us"] - section["start_us"]
        assert dict(found) == expected, (path, found, expected)
assert count > 0
tools = os.path.join(os.environ["tests"], "import", "as_tools.py")
jaeger = [p for p in open("files").read().split() if "/jaeger/" in p or "/faults/" in p]
subprocess.run([sys.executable, "-B", tools, "1", "0", *jaeger], check=True)
# one window, cut at many places: an error or fewer traces, never a crash
path = next(p for p in open("files").read().split() if p.endswith(".gz"))
data = gzip.open(path).read()
for cut in range(0, len(data), len(data) // 40 + 1):
    open("cut.json", "wb").write(data[:cut])
    out = subprocess.run(["cpt", "import", "-o", "cut.cptlog", "cut.json"], capture_output=True)
    assert out.returncode in (0, 1), (cut, out.returncode)
END
python3 check.py && echo "all tile their roots"
