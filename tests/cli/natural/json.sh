# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# for programs: as docs/schemas/ says
make_log natural >a.cptlog
make_log few >b.cptlog
cpt natural a.cptlog --when cache=hit --by service --json
cpt natural b.cptlog --when arm=treatment --equal arm --json
if command -v python3 >/dev/null; then
    tests=$(cd "$(dirname "$0")/.." && pwd)
    is()
    {
        python3 "$tests/json_schema.py" ${CPT_SCHEMA:-} "$tests/../../docs/schemas/natural.json"
    }
    cpt natural a.cptlog --when cache=hit --json | is
    cpt natural a.cptlog --when cache=hit --by edge --size path --json --max-bytes 2k | is
    cpt natural b.cptlog --when arm=treatment --json | is
    cpt natural b.cptlog --when arm=treatment --equal arm --json | is
fi
