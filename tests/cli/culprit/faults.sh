# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# windows of real systems with a known slow service (CPT_TRACES: a folder with
# faults/truth.json), if they are there: it is first, but where there is no evidence
[ -f "$CPT_TRACES/faults/truth.json" ] || { echo "no windows: set CPT_TRACES"; exit 77; }
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
cat >check.py <<'END'
import json, os, subprocess

folder = os.environ["CPT_TRACES"] + "/faults/"
SIDES = "baseline", "window"
found = {"operation": 0, "replica": 0}
MISSES = ["TT_2023-01-29_13_32"]  # docs/culprit.md says why

def log(window):
    if not os.path.exists(window + ".cptlog"):
        subprocess.run(["cpt", "import", folder + window + ".jaeger.json.gz", "-o", window + ".cptlog"],
                       check=True, capture_output=True)
    return window + ".cptlog"

for case in json.load(open(folder + "truth.json")):
    out = subprocess.run(["cpt", "culprit", "--json", log(case["baseline"]), log(case["window"])],
                         check=True, capture_output=True)
    answer = json.loads(out.stdout)
    first = answer["services"][0]
    is_right = first["service"] == case["faulty_service"]
    assert is_right or case["window"] in MISSES, (case, first)
    assert is_right or answer["verdict"] != "sure", (case, first)
    for service in answer["services"]:
        assert not service["culprit"] or service["service"] == case["faulty_service"], (case, service)
    # and the other way round no service is accused for sure
    out = subprocess.run(["cpt", "culprit", "--json", log(case["window"]), log(case["baseline"])],
                         check=True, capture_output=True)
    assert json.loads(out.stdout)["verdict"] != "sure", case
    # operations and replicas are named of that service alone
    for by, divider, sources in ("operation", ": ", [log(case[side]) for side in SIDES]), \
            ("replica", "@", [folder + case[side] + ".jaeger.json.gz" for side in SIDES]):
        for way in sources, sources[::-1]:
            out = subprocess.run(["cpt", "culprit", "--json", "--by", by, *way], check=True, capture_output=True)
            answer = json.loads(out.stdout)
            names = [row["service"] for row in answer["services"] if row["culprit"]] + answer.get("either", [])
            assert way is sources or not names, (case, by, names)
            found[by] += bool(names)
            for name in names:
                assert name.split(divider)[0] == case["faulty_service"], (case, by, name)
print(found)
END
python3 check.py && echo "as known"
