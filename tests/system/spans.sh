# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# spans.sh - the services of examples/shop/ write their spans; imported, they give the paths of
# the entry's own log, segment by segment and to the nanosecond
. "$(dirname "$0")/system.sh"
need curl python3

rm -rf log spans
mkdir log spans

# serve SERVICE FLAGS...: starts it; $url is where it listens.
serve() {
    name=$1
    shift
    start "$name" "$CPT_EXAMPLES/shop_$name" --listen 127.0.0.1:0 --spans spans "$@"
    await "$name.out" "$name listens on"
    url=http://$(sed -n "s/^$name listens on //p" "$name.out")
}

say 'four services write spans; the entry logs its paths, too'
serve catalogue --probability 0
catalogue=$url
serve price --probability 0
price=$url
serve stock --probability 0
stock=$url
serve front --probability 1 --log log --counters --to "catalogue=$catalogue,price=$price,stock=$stock"
for round in 1 2 3 4 5 6 7 8; do
    curls=
    for i in 1 2 3 4 5; do
        curl -s -o "page$i" "$url/page?$((round + i))" &
        curls="$curls $!"
    done
    # shellcheck disable=SC2086
    wait $curls
done
curl -s -o page -H 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' "$url/page?9"
[ "$(curl -s "$url/cpt/metrics" | awk '$1 ~ /^cpt_spans_lost_total/ { print $2 }')" = 0 ] || fail 'spans are lost'
for pid in $started; do
    kill "$pid"
    wait "$pid" || fail 'a service did not end well'
done
started=

say 'each line is one JSON object, and ids tell the tree'
cat spans/*.otlp.jsonl >all.jsonl
"$CPT" import all.jsonl -o imported.cptlog || fail 'the spans cannot be imported'
python3 - all.jsonl <<'END' || fail 'the spans do not fit together'
import json, sys
spans = {}
for line in open(sys.argv[1]):
    for scope in json.loads(line)["resourceSpans"][0]["scopeSpans"]:
        for span in scope["spans"]:
            assert (span["traceId"], span["spanId"]) not in spans
            spans[span["traceId"], span["spanId"]] = span
servers = 0
for (trace, _), span in spans.items():
    parent = spans.get((trace, span.get("parentSpanId")))
    servers += span["kind"] == 2 and span["name"] == "/page"
    if span["kind"] != 2 or parent:
        assert parent, span
        assert span["kind"] != 2 or parent["kind"] == 3
assert servers == 41, servers
own = [s for (t, _), s in spans.items() if t == "4bf92f3577b34da6a3ce929d0e0e4736"]
assert [s["name"] for s in own if s.get("parentSpanId") == "00f067aa0ba902b7"] == ["/page"]
END

say 'the paths are those of the log; of shared work there is only the time'
"$CPT" log --json log >own.json
"$CPT" log --json imported.cptlog >imported.json
python3 - own.json imported.json <<'END' || fail 'the paths differ'
import json, sys
def read(name):
    records = {}
    for line in open(name):
        record = json.loads(line)
        if not record.get("local_root"):
            records[record["trace_id"]] = record
    return records
# the inside of work that requests share is in no span
def segments(record):
    out = []
    for segment in record["segments"]:
        stack, kind = segment["stack"], segment["kind"]
        if "catalogue: titles" in stack:
            stack, kind = stack[:stack.index("catalogue: titles") + 1], "shared"
            if out and out[-1][:2] == [stack, kind]:
                out[-1][2] += segment["duration_ns"]
                continue
        out.append([stack, kind, segment["duration_ns"]])
    return out
own, imported = read(sys.argv[1]), read(sys.argv[2])
assert len(own) == 41 and own.keys() == imported.keys(), (len(own), len(imported))
for trace, record in own.items():
    other = imported[trace]
    assert record["latency_ns"] == other["latency_ns"], trace
    for a, b in zip(segments(record), segments(other)):
        assert a == b, (trace, a, b)
    assert len(segments(record)) == len(segments(other)), trace
    assert not other.get("approximate")
END

# what would help: the graph of each request is as long as its latency, and the path fills it
# (one request came in below a span that is not here: a fragment)
"$CPT" slack --json --include-fragments all.jsonl >slack.json || fail 'the spans cannot be measured'
python3 - slack.json <<'END' || fail 'slack and drag do not fit together'
import json, sys
found = json.load(open(sys.argv[1]))
assert found["requests"] == 41 and found["without_notes"] == 0 and found["inexact"] == 0, found
assert abs(sum(frame["path_ns"] for frame in found["frames"]) - found["latency_ns"]) < 100
for frame in found["frames"]:
    assert frame["drag_ns"] <= frame["gain_ns"] <= frame["path_ns"], frame
END
