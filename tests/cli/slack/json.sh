# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the same, for programs
. "$(dirname "$0")/../spans.sh"
{
    span 1 1 '' 0 25000000 "request entry=A:%20%2f latency=25000000 by=$(id 2)"
    span 1 2 "$(id 1)" 0 25000000 "task name=A:%20a start=0 end=25000000"
    span 1 3 "$(id 2)" 5000000 20000000 \
        "wait order=1 block=5000000 arrive=20000000 resume=20000000 for=$(id 4)"
    span 1 4 "$(id 2)" 3000000 20000000 \
        "call name=B:%20b issuer=$(id 2) waiter=$(id 2) issue=3000000 arrive=20000000 outcome=1 path=1"
    span 1 5 "$(id 2)" 3000000 12000000 \
        "call name=C:%20c issuer=$(id 2) waiter=$(id 2) issue=3000000 arrive=12000000 outcome=1"
} >a.json
{
    span 1 6 "$(id 4)" 900000000 913000000 "request entry=B:%20b latency=13000000 by=$(id 8)"
    span 1 7 "$(id 6)" 900000000 906000000 "task name=B:%20one start=0 end=6000000"
    span 1 9 "$(id 6)" 900000000 902000000 "task name=B:%20two start=0 end=2000000"
    span 1 8 "$(id 6)" 906000000 913000000 \
        "task name=B:%20join ready=6000000 start=7000000 end=13000000 after=$(id 7) inputs=$(id 9)"
} >b.json
cpt slack --json a.json b.json | tee slack.json
if command -v python3 >/dev/null; then
    tests=$(cd "$(dirname "$0")/.." && pwd)
    python3 "$tests/json_schema.py" "$tests/../../docs/schemas/slack.json" <slack.json
    cpt slack --json --max-bytes 1k a.json b.json 2>none |
        python3 "$tests/json_schema.py" "$tests/../../docs/schemas/slack.json"
fi
