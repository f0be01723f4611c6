# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# grpc_room.sh SOURCE BUILD COUNT - paths beside other trailing metadata of a service on
# grpc++, to a client at its defaults, and asks beside other metadata of its calls, also
# through nginx and HAProxy if they are there: COUNT calls with an ask end as those
# without. CPT_TEST_SEED repeats a run.
PATH=$PATH:/usr/sbin:/sbin # a person's has no daemons
. "$(dirname "$0")/system.sh"
. "$(dirname "$0")/grpc_middle_build.sh"
. "$(dirname "$0")/grpc_proxied.sh"
need python3
build_grpc_middle "$1" "$2"
count=$(($3 / 3 + 1))
seed=${CPT_TEST_SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
GRPC_VERBOSITY=NONE
export GRPC_VERBOSITY

# room NAME ADDRESS: calls of it.
room() {
    say "$1"
    ./grpc_middle room "$2" $count "$seed" || fail "$1, CPT_TEST_SEED=$seed"
}

rm -rf logs
mkdir logs
mkdir logs/next
start next ./grpc_middle serve 127.0.0.1:1 logs/next 0
await next.out '^grpc '
start m ./grpc_middle serve "127.0.0.1:$(sed -n 's/^grpc //p' next.out)" logs 0
await m.out '^grpc '
upstream=127.0.0.1:$(sed -n 's/^grpc //p' m.out)

say '6,500 bytes of its own leave room for a path, and 7,600 do not'
[ "$(./grpc_middle call "$upstream" asked-own6500)" = 'hello own6500 status 0 paths 1' ] ||
    fail 'own6500'
[ "$(./grpc_middle call "$upstream" asked-own7600)" = 'hello own7600 status 0 paths 0' ] ||
    fail 'own7600'
say 'a call with metadata near the limit of its callee ends as without an ask'
# out BYTES
out() {
    plain=$(./grpc_middle call "$upstream" "out$1")
    asked=$(./grpc_middle call "$upstream" "asked-out$1")
    [ "${plain% paths *}" = "${asked% paths *}" ] || fail "out$1: $plain, with an ask $asked"
}
bytes=6500
while [ $bytes -le 8200 ]; do
    out $bytes
    bytes=$((bytes + 50))
done
# path_of_call BYTES: what M says of its call.
path_of_call() {
    ./grpc_middle call "$upstream" "asked-out$1" >call.out
    base64 -w 0 path.bin | "$CPT" metadata
}
path_of_call 6000 | grep -q 'blind spot' && fail "6,000 bytes left no room: $(path_of_call 6000)"
path_of_call 7400 | grep 'blind spot' | grep -q limit || fail "7,400 bytes: $(path_of_call 7400)"
room 'without a proxy' "$upstream"
for by in nginx haproxy; do
    if ! command -v $by >/dev/null; then
        say "skipped: $by is not installed"
    elif [ $by = nginx ] && ! nginx -V 2>&1 | grep -q http_v2; then
        say 'skipped: this nginx has no HTTP/2'
    else
        by_$by $by
        room "through $by" "127.0.0.1:$proxy"
    fi
done
say 'all is well'
