# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# JSON is as the schema says, whatever the logs are; the same seed gives the same
if ! command -v python3 >/dev/null; then
    echo "skipped: there is no python3"
    exit 77
fi
tests=$(cd "$(dirname "$0")/.." && pwd)
is()
{
    python3 "$tests/json_schema.py" --complete "$tests/../../docs/schemas/culprit.json"
}
make_log experiment >a.cptlog
two='--base arm=control --new arm=treatment'
cpt culprit --json $two a.cptlog >a.json
is <a.json
cpt culprit --json $two a.cptlog | cmp - a.json
cpt culprit --json --by name --max-bytes 900 $two a.cptlog | is
cpt culprit --json --by operation $two a.cptlog | is
cpt culprit --json --by attribute:region $two a.cptlog | is
cpt culprit --json --by edge --seed 5 --sample 20 $two a.cptlog | is
for log in few hostile turned markup services; do
    make_log $log >$log.cptlog
    cpt culprit --json $log.cptlog a.cptlog 2>/dev/null | is
done
# the slowed component is first
cpt culprit --json --by name $two a.cptlog | python3 -c '
import json, sys
answer = json.load(sys.stdin)
print(answer["verdict"], answer["services"][0]["service"])'
