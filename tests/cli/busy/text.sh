# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# A2 runs for 6 ms beside A1, on no path: each has half of that time; then A3 alone
. "$(dirname "$0")/../spans.sh"
request() { # TRACE
    span "$1" 1 '' 0 14000000 "request entry=A:%20%2f latency=14000000 by=$(id 4)"
    span "$1" 2 "$(id 1)" 0 10000000 "task name=A:%20A1 start=0 end=10000000"
    span "$1" 3 "$(id 1)" 2000000 8000000 "task name=A:%20A2 ready=0 start=2000000 end=8000000"
    span "$1" 4 "$(id 1)" 10000000 14000000 "task name=A:%20A3 ready=10000000 start=10000000 end=14000000 after=$(id 2)"
}
request 1 >notes.json
request 2 >>notes.json
cpt busy notes.json
cpt busy --by arm notes.json
cpt busy --json notes.json | tee busy.json
if command -v python3 >/dev/null; then
    python3 - <<'END'
import json
answer = json.load(open("busy.json"))
assert sum(row["normalised_ns"] for row in answer["frames"]) == answer["groups"][0]["busy_ns"] == 14e6
assert sum(row["hidden_ns"] for row in answer["frames"]) == answer["groups"][0]["hidden_ns"] == 6e6
END
fi
