# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the same, for programs
. "$(dirname "$0")/requests.sh"
cpt whatif --json --set 'C: C1=1ms' spans.json | tee whatif.json
cpt whatif --json --sweep 50% spans.json >sweep.json
cpt whatif --json --best 2 spans.json >best.json
cpt whatif --json --workers A=1 spans.json >workers.json
cpt whatif --json --max-bytes 1k --set 'C: C1=1ms' spans.json >less.json
if command -v python3 >/dev/null; then
    tests=$(cd "$(dirname "$0")/.." && pwd)
    for file in whatif sweep best workers less; do
        python3 "$tests/json_schema.py" --complete "$tests/../../docs/schemas/whatif.json" <$file.json || echo "$file.json breaks the schema"
    done
fi
