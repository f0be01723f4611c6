# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the same for programs: each wait is in one pair, and the shares add up
make_log contended >contended.cptlog
cpt contention --json contended.cptlog | tee contended.json
python3 - <<'END'
import json
answer = json.load(open("contended.json"))
for key in ("culprits", "pairs"):
    assert abs(sum(row["share"] for row in answer[key]) - answer["waiting_share"]) < 1e-3, key
assert answer["culprits"][0]["culprit"] == "A: A2"
END
