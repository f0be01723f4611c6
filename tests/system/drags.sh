# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# drags.sh - drags over HTTP: the demo's Figure 2c; callees that do not know drags, or lie;
# see drags.py
. "$(dirname "$0")/system.sh"
need curl python3

start demo "$CPT" demo --serve --dir out
await demo.out 'End: ^C'
a=$(sed -n 's/^  A .*\(http:[^ ]*\).*/\1/p' demo.out)

say 'Fig 2c: what A computes while B1 is outstanding is no part of the drag of B1'
tries=5 # a busy machine may delay anything
until
    ask "$a/overlap" overlap 'critical-path: 1;forced;drag'
    "$CPT" metadata --json "$(path_of overlap)" >overlap.json
    python3 "$(dirname "$0")/drags.py" figure <overlap.json
do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "$(cat overlap.json)"
done

say 'not asked: no drag, in no page'
for page in / /overlap /forms; do
    ask "$a$page" plain 'critical-path: 1;forced'
    "$CPT" metadata --json "$(path_of plain)" >plain.json
    ! grep -q drag_ns plain.json || fail "$page: $(cat plain.json)"
done

say 'each page and form: no drag above its segment'
values=
for page in / '/?page=search' /forms /overlap /repeat '/repeat?how=serial'; do
    ask "$a$page" dragged 'critical-path: 1;forced;drag;max=4096'
    values="$values $(path_of dragged)"
    "$CPT" metadata --json "$(path_of dragged)" >dragged.json
    python3 "$(dirname "$0")/drags.py" bounded <dragged.json || fail "$page: $(cat dragged.json)"
done

say 'the drags of these paths, in bytes'
# shellcheck disable=SC2086
python3 "$(dirname "$0")/drags.py" bytes $values

say 'the log has them'
sleep 1
"$CPT" log --json out/paths.cptlog >log.json
grep -q '"drag_ns"' log.json || fail 'no drag in the log'

say 'callees of sockets: without drags, with them, and one that lies'
python3 -B "$(dirname "$0")/drags.py" callees "$CPT_HELPERS" "$CPT"
