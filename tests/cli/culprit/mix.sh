# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a query takes longer for one of two pages, which is asked for more: it is not at fault
python3 - <<'PY'
import json
import random

START = 1_700_000_000_000_000_000
random.seed(1)


def resource(service, spans):
    return {"resource": {"attributes": [
        {"key": "service.name", "value": {"stringValue": service}}]},
        "scopeSpans": [{"spans": spans}]}


def write(name, share, factor):
    spans = {service: [] for service in ["front", "B", "C", "D", "E", "db"]}

    def span(i, service, number, operation, kind, begin, end):
        one = {"traceId": f"{i + 1:032x}", "spanId": f"{100 * i + number + 1:016x}",
               "name": operation, "kind": kind, "startTimeUnixNano": str(begin),
               "endTimeUnixNano": str(end)}
        if number > 0:
            one["parentSpanId"] = f"{100 * i + (number - 1 if kind == 2 else 0) + 1:016x}"
        spans[service].append(one)

    for i in range(400):
        is_second = random.random() < share
        at = START + i * 10 ** 9
        begin = at
        for k, service in enumerate(list(spans)[1:]):
            took = random.randrange(1_000_000, 2_000_000)
            took *= factor * (20 if is_second else 1) if service == "db" else 1
            at += random.randrange(1_000_000, 1_500_000)
            edge = random.randrange(200_000, 300_000)
            span(i, "front", 2 * k + 1, "ask", 3, at, at + took + 2 * edge)
            span(i, service, 2 * k + 2, "ask", 2, at + edge, at + edge + took)
            at += took + 2 * edge
        span(i, "front", 0, "/2" if is_second else "/1", 2, begin, at + 1_000_000)
    with open(name, "w", encoding="utf-8") as file:
        json.dump({"resourceSpans": [resource(*both) for both in spans.items()]}, file)


write("base.json", 0.3, 1)
write("mix.json", 0.6, 1)
write("slow.json", 0.6, 3)
PY
for new in mix slow; do
    echo "$new"
    cpt culprit base.json $new.json 2>&1 | grep -v spans | head -2
done
echo 'one page'
cpt culprit --where method=/2 base.json mix.json 2>&1 | grep -v spans | head -1
