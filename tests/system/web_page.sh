#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# web_page.sh MAKE_LOG - the page of cpt web, by mouse alone and by keyboard alone, on a
# desk and on a phone, with hostile names, ten thousand stacks, two readers, and a log
# that grows. See web_page.py.
set -u
make_log=$1
here=$(dirname "$0")
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || {
    echo "web_page: no chromium"
    exit 77
}
command -v python3 >/dev/null || {
    echo "web_page: no python3"
    exit 77
}
work=$(mktemp -d) || exit 2
servers=
trap 'kill $servers 2>/dev/null; wait; rm -rf "$work"' EXIT

# serve NAME [OPTION...]: a server for the log NAME; its address is in NAME.at.
serve()
{
    log=$1
    shift
    "$CPT" web --port 0 "$@" "$work/$log.cptlog" > "$work/$log.out" 2>&1 &
    servers="$servers $!"
    tries=100
    while ! grep -q 'http://' "$work/$log.out" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { cat "$work/$log.out"; exit 1; }
        sleep 0.1
    done
    sed -n 's|^cpt web: \(http://[^ ]*\) .*|\1|p' "$work/$log.out" > "$work/$log.at"
}

"$make_log" experiment > "$work/arms.cptlog"
"$make_log" wide > "$work/wide.cptlog"
"$make_log" markup > "$work/markup.cptlog"
bytes=$(($(wc -c < "$work/arms.cptlog") / 2))
head -c $bytes "$work/arms.cptlog" > "$work/grows.cptlog"
tail -c +$((bytes + 1)) "$work/arms.cptlog" > "$work/grows.rest"
for name in arms wide markup grows; do
    serve $name
done
cp "$work/arms.cptlog" "$work/graphs.cptlog"
for service in A B C; do
    "$(dirname "$make_log")/make_graphs" $service 40 > "$work/$service.cptgraph"
done
serve graphs --graphs "$work/A.cptgraph" --graphs "$work/B.cptgraph" --graphs "$work/C.cptgraph"
cp "$work/arms.cptlog" "$work/spans.cptlog"
python3 "$here/web_sliders.py" spans "$work/spans.json"
serve spans --graphs "$work/spans.json"
cp "$work/arms.cptlog" "$work/open.cptlog"
serve open --listen 0.0.0.0 --graphs "$work/A.cptgraph" --graphs "$work/B.cptgraph" --graphs "$work/C.cptgraph"
PYTHONDONTWRITEBYTECODE=1 timeout 280 python3 "$here/web_page.py" "$work" \
    "$(cat "$work/arms.at")" "$(cat "$work/wide.at")" "$(cat "$work/markup.at")" \
    "$(cat "$work/grows.at")" "$(cat "$work/graphs.at")" "$(cat "$work/spans.at")" \
    "$(cat "$work/open.at")"
