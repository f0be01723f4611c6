# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# strata, counts and means by a plain model of them, in Python
if ! command -v python3 >/dev/null; then
    echo "skipped: there is no python3"
    exit 77
fi
make_log natural >a.cptlog
cpt log --json a.cptlog >records
for by in stack service name edge; do
    cpt natural a.cptlog --when cache=hit --equal region --by $by --json >answer
    python3 - $by <<'END'
import collections
import json
import sys

strata = collections.defaultdict(lambda: ([], []))
for line in open("records"):
    record = json.loads(line)
    meta = record["meta"]
    power = meta["size"].bit_length()
    strata[record["method"], meta["region"], power][meta.get("cache") == "hit"].append(
        record["latency_ns"])
common = {key: pair for key, pair in strata.items() if min(map(len, pair)) >= 2}
weights = {key: len(a) * len(b) / (len(a) + len(b)) for key, (a, b) in common.items()}
means = [sum(weights[key] * sum(pair[side]) / len(pair[side]) for key, pair in common.items())
         / sum(weights.values()) for side in (0, 1)]
answer = json.loads(open("answer").read())
counts = [[sum(len(pair[side]) for key, pair in strata.items() if test(key, pair))
           for test in (lambda key, pair: key in common,
                        lambda key, pair: not min(map(len, pair)),
                        lambda key, pair: min(map(len, pair)) == 1)]
          for side in (1, 0)]
assert counts == [[group[word] for word in ("compared", "alone", "single")]
                  for group in answer["groups"]], counts
assert [answer["strata"], answer["strata_compared"]] == [len(strata), len(common)]
assert abs(answer["base_ns"] - means[0]) < 0.01, means
assert abs(answer["new_ns"] - means[1]) < 0.01, means
rows = sum(row["delta_ns"] for row in answer["rows"])
assert sys.argv[1] in ("edge",) or abs(rows - answer["delta_ns"]) < 0.1, rows
print(sys.argv[1], "as the model")
END
done
