# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# grpc_graphs.sh - sourced by grpc_cpp.sh: graphs of task graphs and of a service on grpc++
# between them, each in a log of its own, are one request
#
#      curl --HTTP--> A --gRPC--> M (grpc++) --gRPC--> C --HTTP--> D
#
# shellcheck shell=sh

# graph_number FILE KEY...: of a JSON document.
graph_number() {
    python3 -c '
import json, sys
found = json.load(open(sys.argv[1]))
for key in sys.argv[2:]:
    found = found[key]
print(found)' "$@"
}

# has_exact FILE REQUESTS: there are REQUESTS, and each dag has the latency of its record.
has_exact() {
    [ "$(graph_number "$1" requests)" = "$2" ] || fail "$1: $(graph_number "$1" requests)"
    [ "$(graph_number "$1" inexact)" = 0 ] || fail "$1: a dag has not the latency"
}

say 'graphs of all four are joined'
rm -rf kept-*
mkdir kept-a kept-m kept-c kept-d
start kd "$CPT_HELPERS/grpc_chain" D --listen 127.0.0.1:0 --log kept-d --graph 0
kd_pid=$pid
await kd.out 'listens on'
start kc "$CPT_HELPERS/grpc_chain" C --listen 127.0.0.1:0 --log kept-c --graph 0 \
    --to "d=http://$(sed -n 's/.*listens on //p' kd.out)"
kc_pid=$pid
kc=127.0.0.1:$(port kc)
start km ./grpc_middle serve "$kc" kept-m
km_pid=$pid
start ka "$CPT_HELPERS/grpc_chain" A --listen 127.0.0.1:0 --probability 1 --log kept-a \
    --graph 1 --to "m=127.0.0.1:$(port km)"
ka_pid=$pid
await ka.out 'listens on'
ka=http://$(sed -n 's/.*listens on //p' ka.out)
for what in once twice both overlap; do
    curl -s --max-time 20 -o reply "$ka/?$what" || fail "no answer to $what"
    curl -s --max-time 20 -o reply "$ka/?$what" || fail "no answer to $what"
done
for name in ka km kc kd; do
    eval "kill \$${name}_pid && wait \$${name}_pid" || fail "$name ends with $?"
done
"$CPT" slack --json kept-*/*.cptgraph >kept.json 2>kept.err || fail "$(cat kept.err)"
has_exact kept.json 8
! grep -q 'constant length' kept.err || fail "a service is missing: $(cat kept.err)"
for frame in 'A: page' 'M: /demo.Greeter/Hello' 'M: compute' 'C: stock' 'D: leaf'; do
    grep -q "\"name\": *\"$frame\"" kept.json || fail "no $frame in $(cat kept.json)"
done

say 'nothing changed is the recorded latency; what M and D take is taken from it'
"$CPT" whatif --json kept-*/*.cptgraph >same.json 2>same.err || fail "$(cat same.err)"
[ "$(graph_number same.json latency mean change_ns)" = 0 ] || fail "$(cat same.json)"
"$CPT" whatif --json --set 'D: d: nap=0' --set 'M: /demo.Greeter/Hello=0' kept-*/*.cptgraph >less.json \
    2>less.err || fail "$(cat less.err)"
[ "$(graph_number less.json latency mean before_ns)" = \
    "$(graph_number same.json latency mean before_ns)" ] || fail "$(cat less.json)"
python3 -c '
import sys
sys.exit(float(sys.argv[1]) > -3000000)' "$(graph_number less.json latency mean change_ns)" ||
    fail "too little is gained: $(cat less.json)"

say 'without the log of M its calls are constants, and who is behind it is of no request'
"$CPT" slack --json kept-[acd]/*.cptgraph >part.json 2>part.err || fail "$(cat part.err)"
has_exact part.json 8
grep -q 'constant length' part.err || fail "$(cat part.err)"
