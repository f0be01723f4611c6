# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# metrics.sh [tools] - what the port of operators serves to Prometheus: both formats are as
# they should be; with `tools`, promtool and python3-prometheus-client say so as well.
. "$(dirname "$0")/system.sh"
tools=${1:-}
need curl
if [ "$tools" = tools ]; then
    need promtool
    # Debian's packages are for Debian's python3, which may not be the first one.
    python=python3
    $python -c 'import prometheus_client' 2> /dev/null || python=/usr/bin/python3
    $python -c 'import prometheus_client' 2> /dev/null ||
        { echo "skipped: python3-prometheus-client is not installed"; exit 77; }
fi

start operated "$CPT_HELPERS/operated"
await operated.out '^[0-9]* [0-9]*$'
read -r port operators < operated.out

trace=0af7651916cd43dd8448eb211c80319c
for id in 1 2 a%20b; do
    curl -s -H "traceparent: 00-$trace-b7ad6b7169203331-01" \
        "http://127.0.0.1:$port/item/$id" > body || fail "item $id"
done
[ "$(cat body)" = "a b" ] || fail "the item is $(cat body)"
curl -s "http://127.0.0.1:$port/none" > /dev/null

say "plain text"
curl -s -D head "http://127.0.0.1:$operators/metrics" > plain
grep -qi '^content-type: text/plain; version=0.0.4' head || fail "content type of plain text"
grep -qF 'cpt_requests_total{service="shop \"1\""} 4' plain || fail "requests"
grep -qF 'cpt_request_seconds_count{service="shop \"1\"",method="GET /item/{id}"} 3' plain ||
    fail "count of latencies"
grep -q 'le="+Inf"} 3$' plain || fail "last bucket"
! grep -q 'trace_id' plain || fail "plain text has exemplars"
! grep -q '_ns' plain || fail "plain text has nanoseconds"

say "OpenMetrics"
accept='Accept: application/openmetrics-text; version=1.0.0, text/plain;q=0.5'
curl -s -D head -H "$accept" "http://127.0.0.1:$operators/metrics" > open
grep -qi '^content-type: application/openmetrics-text; version=1.0.0' head ||
    fail "content type of OpenMetrics"
[ "$(tail -n 1 open)" = "# EOF" ] || fail "the end"
grep -q "} [123] # {trace_id=\"$trace\"} 0\\.[0-9]\\{9\\} [0-9.]*\$" open || fail "exemplar"

if [ "$tools" = tools ]; then
    say "promtool"
    promtool check metrics < plain > promtool.out 2>&1 || fail "$(head promtool.out)"
    say "prometheus_client"
    $python - open <<'END' || fail "python3-prometheus-client"
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families

families = list(text_string_to_metric_families(open(sys.argv[1]).read()))
samples = [s for f in families for s in f.samples]
latency = [s for s in samples if s.name == "cpt_request_seconds_bucket"]
assert len(latency) == 17, len(latency)
exemplars = [s.exemplar for s in latency if s.exemplar]
assert exemplars, "no exemplars"
for e in exemplars:
    assert e.labels == {"trace_id": "0af7651916cd43dd8448eb211c80319c"}, e
assert any(s.name == "cpt_requests_total" and s.value == 4 for s in samples)
END
fi
kill "$pid"
wait "$pid" || fail "operated ended with $?"
