# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# measured beside predicted: A1 is waited for, A3 has 2 ms of slack, A4 has 8 ms, A5 disagrees
. "$(dirname "$0")/../spans.sh"
# request TRACE EXTRA: one more task, if any
request() {
    span "$1" 1 '' 0 15000000 "request entry=A:%20%2f latency=15000000 by=$(id 6)"
    span "$1" 2 "$(id 1)" 0 3000000 "task name=A:%20A1 start=0 end=3000000"
    span "$1" 3 "$(id 1)" 3000000 13000000 "task name=A:%20A2 ready=3000000 start=3000000 end=13000000 after=$(id 2)"
    span "$1" 4 "$(id 1)" 3000000 11000000 "task name=A:%20A3 ready=3000000 start=3000000 end=11000000 after=$(id 2)"
    span "$1" 5 "$(id 1)" 3000000 5000000 "task name=A:%20A4 ready=3000000 start=3000000 end=5000000 after=$(id 2)"
    span "$1" 6 "$(id 1)" 13000000 15000000 \
        "task name=A:%20A5 ready=13000000 start=13000000 end=15000000 after=$(id 3) inputs=$(id 4),$(id 5)"
}
request 1 >a.json
request 2 >b.json
make_log delays >a.cptlog
cpt experiment --graphs a.json -g b.json a.cptlog
mkdir graphs && cp a.json b.json graphs
cpt experiment --graphs graphs a.cptlog >folder 2>none
cpt experiment --graphs a.json -g b.json a.cptlog 2>none | cmp - folder
mkdir empty && cp a.cptlog empty
cpt experiment --graphs empty a.cptlog 2>&1 >none | grep 'has no'
echo 'one graph does not tell how much graphs vary:'
cpt experiment --graphs a.json a.cptlog 2>none | sed -n 3p
cpt experiment --json --graphs a.json -g b.json a.cptlog 2>none | tee experiment.json | sed 's/"q":[^,]*/"q":_/'
if command -v python3 >/dev/null; then
    tests=$(cd "$(dirname "$0")/.." && pwd)
    python3 "$tests/json_schema.py" "$tests/../../docs/schemas/experiment.json" <experiment.json
    cpt experiment --json --max-bytes 1k a.cptlog 2>none |
        python3 "$tests/json_schema.py" "$tests/../../docs/schemas/experiment.json"
fi
