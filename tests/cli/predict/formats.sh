# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the predictions, for programs
make_log sessions >a.cptlog
cpt predict a.cptlog --key user --threshold 2500ms --format csv --columns key,class
cpt predict a.cptlog --key user --threshold 2500ms --format markdown | tail -n 14
cpt predict a.cptlog --key user --threshold 2500ms --json
if command -v python3 >/dev/null; then
    tests=$(cd "$(dirname "$0")/.." && pwd)
    is()
    {
        python3 "$tests/json_schema.py" ${CPT_SCHEMA:-} "$tests/../../docs/schemas/predict.json"
    }
    cpt predict a.cptlog --key user --threshold 2500ms --json | is
    cpt predict a.cptlog --key user --threshold 2500ms --where user=u9 --json | is
    cpt predict a.cptlog --key user --threshold 2500ms --json --max-bytes 1k | is
fi
