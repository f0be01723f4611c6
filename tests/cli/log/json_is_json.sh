# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# every line is valid JSON, with any names
make_log experiment >a.cptlog
make_log hostile >b.cptlog
cpt log --json a.cptlog b.cptlog >lines
wc -l <lines
if command -v python3 >/dev/null; then
    python3 -c '
import json
for line in open("lines", encoding="utf-8"):
    record = json.loads(line)
    assert sum(s["duration_ns"] for s in record["segments"]) == record["latency_ns"]
    assert all(s["stack"][0] == record["segments"][0]["stack"][0] for s in record["segments"])
' || echo "is no JSON"
fi
