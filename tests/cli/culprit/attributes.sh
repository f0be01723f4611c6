# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# attributes of spans: a tenant that is slower, arms that were drawn by user
python3 - <<'PY'
import json
import random

START = 1_700_000_000_000_000_000
random.seed(1)


def text(key, given):
    return {"key": key, "value": {"stringValue": given}}


def write(name, slow):
    spans = []
    for i in range(300):
        tenant = f"t{i % 6}"
        user = random.randrange(40)
        took = random.randrange(4_000_000, 6_000_000) * (3 if tenant == slow else 1)
        at = START + i * 10 ** 9
        spans.append({
            "traceId": f"{i + 1:032x}", "spanId": f"{i + 1:016x}", "name": "/", "kind": 2,
            "startTimeUnixNano": str(at), "endTimeUnixNano": str(at + took),
            "attributes": [text("tenant", tenant), text("user", f"u{user}"),
                           text("arm", "A" if user % 2 else "B")]})
    with open(name, "w", encoding="utf-8") as file:
        json.dump({"resourceSpans": [{"resource": {"attributes": [
            text("service.name", "front")]}, "scopeSpans": [{"spans": spans}]}]}, file)


write("base.json", None)
write("now.json", "t4")
PY
quiet() { "$@" 2>/dev/null; }
echo 'which tenant'
quiet cpt culprit --attribute tenant --by attribute:tenant base.json now.json | head -2
quiet cpt culprit --attribute tenant --by attribute:tenant base.json base.json | head -1
echo 'one tenant'
quiet cpt culprit --attribute tenant --where tenant=t4 base.json now.json | sed -n 2p
quiet cpt diff --attribute tenant --base tenant=t4 --new tenant=t5 now.json | head -2
echo 'by user'
quiet cpt culprit --attribute arm --attribute user --cluster user --base arm=A --new arm=B now.json | head -2
echo 'not asked for'
cpt culprit --by attribute:tenant base.json now.json 2>&1 | tail -1
