#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# bench_inband.sh FOLDER [REQUESTS] - the bytes of traced requests, in band and as spans
#
# The four services of examples/shop/, programs in FOLDER, trace each request, return
# their paths to each other, and write their spans beside. In band are the values of
# critical-path-bin and of the asks of all calls within, with the names of these headers;
# spans are the lines of OTLP, as they are and after gzip -6. Prints a table in Markdown.
# Bytes do not depend on how busy the machine is.
set -eu
folder=$(cd "$1" && pwd)
requests=${2:-200}
work=$(mktemp -d)
started=
trap 'for pid in $started; do kill "$pid" 2>/dev/null || true; done; wait; rm -rf "$work"' EXIT
cd "$work"
mkdir spans

# serve SERVICE FLAGS...: $url is where it listens
serve()
{
    name=$1
    shift
    : >"$name.out"
    "$folder/shop_$name" --listen 127.0.0.1:0 --counters --spans spans "$@" >"$name.out" 2>"$name.err" &
    started="$started $!"
    tries=0
    until grep -q "^$name listens on" "$name.out" || [ "$tries" -eq 200 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    url=http://$(sed -n "s/^$name listens on //p" "$name.out")
    urls="$urls $url"
}

urls=
serve catalogue --probability 0
catalogue=$url
serve price --probability 0
price=$url
serve stock --probability 0
stock=$url
serve front --probability 1 --to "catalogue=$catalogue,price=$price,stock=$stock"
i=0
while [ "$i" -lt "$requests" ]; do
    curl -s -o page "$url/page?$i"
    i=$((i + 1))
done
for each in $urls; do
    curl -s "$each/cpt/metrics" >>metrics
done
body=$(wc -c <page)
for pid in $started; do
    kill "$pid"
    wait "$pid" || true
done
started=
cat spans/*.otlp.jsonl >all
spans=$(grep -o '"spanId"' all | wc -l)
gzip -6 -c all >all.gz

# total NAME: the sum of a counter over the services
total()
{
    awk -v name="cpt_$1_total" 'index($1, name) == 1 { sum += $2 } END { printf "%d", sum }' metrics
}

awk -v requests="$requests" -v paths="$(total reply_paths)" -v bytes="$(total reply_path_bytes)" \
    -v spans="$spans" -v lines="$(wc -c <all)" -v gzip="$(wc -c <all.gz)" -v body="$body" 'BEGIN {
    ask = length("critical-path: 1;max=2048\r\n") * paths
    header = bytes * 4 / 3 + length("critical-path-bin: \r\n") * paths
    print "| of a request | bytes | |"
    print "| --- | --- | --- |"
    printf "| in band: %.1f paths as bytes (gRPC) | %.0f | %.0f a path |\n", paths / requests, bytes / requests, bytes / paths
    printf "| … as headers of HTTP, with the asks | %.0f | |\n", (header + ask) / requests
    printf "| %.1f spans as OTLP in JSON, out of band | %.0f | %.0f a span |\n", spans / requests, lines / requests, lines / spans
    printf "| … after gzip | %.0f | %.0f a span |\n", gzip / requests, gzip / spans
    printf "| a span of 426 bytes for each of %.0f RPCs, as Dapper reports | %.0f | 426 a span |\n", paths / requests + 1, 426 * (paths / requests + 1)
    printf "| the page that the client gets | %d | |\n", body
}'
