# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# blind_spots.sh - a proxy between A and B takes the ask out of A's calls: the report
# says exactly the share of the time that A then cannot look into, and 0 without it.
. "$(dirname "$0")/system.sh"
need curl python3

cat >proxy.py <<'END'
import http.client, http.server, sys, urllib.parse
target = urllib.parse.urlparse(sys.argv[2])
class Strip(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kept = {k: v for k, v in self.headers.items() if k.lower() not in ("critical-path", "host")}
        call = http.client.HTTPConnection(target.hostname, target.port, timeout=10)
        call.request(self.command, self.path, body or None, kept)
        reply = call.getresponse()
        data = reply.read()
        self.send_response(reply.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        call.close()
    do_POST = do_GET
    def log_message(self, *arguments):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Strip)
open(sys.argv[1], "w").write("http://127.0.0.1:%d\n" % server.server_port)
server.serve_forever()
END
# What the report has to say, worked out from the segments of every record.
cat >judge.py <<'END'
import json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
report = json.load(open(sys.argv[2]))
total = sum(s["duration_ns"] for r in records for s in r["segments"])
blind = sum(s["duration_ns"] for r in records for s in r["segments"] if s["kind"] == "blind_spot")
wanted = blind / total
assert abs(report["blind_share"] - wanted) <= 1e-6 + 1e-5 * wanted, (report["blind_share"], wanted)
assert abs(sum(b["share"] for b in report["blind_spots"]) - wanted) <= 1e-5
names = {(b["service"], b["reason"]) for b in report["blind_spots"]}
assert names == (set() if sys.argv[3] == "whole" else {("B", "unsupported")}), names
assert (wanted == 0) == (sys.argv[3] == "whole"), wanted
print("%s: %.1f %% of the critical time is blind" % (sys.argv[3], 100 * wanted))
END

start c "$CPT_EXAMPLES/figure1_c"
c=$(url c)
start b "$CPT_EXAMPLES/figure1_b" --c "$c"
b=$(url b)
start strip python3 proxy.py strip.url "$b"
await strip.url http
one() { # NAME URL
    start "a_$1" "$CPT_EXAMPLES/figure1_a" --b "$2" --c "$c" --probability 1 --log "$1.cptlog"
    a_pid=$pid
    a=$(url "a_$1")
    for _ in 1 2 3 4 5 6 7 8; do
        curl -fsS "$a/" >page || fail "no page"
    done
    kill "$a_pid"
    wait "$a_pid" || fail "A ended with $?"
    "$CPT" log --json "$1.cptlog" >"$1.records"
    "$CPT" report --blind-spots --json "$1.cptlog" >"$1.report"
    "$CPT" report --blind-spots "$1.cptlog"
    python3 judge.py "$1.records" "$1.report" "$1" || fail "$1: another share"
}
say 'nothing is stripped'
one whole "$b"
say 'the ask is stripped between A and B'
one stripped "$(cat strip.url)"
