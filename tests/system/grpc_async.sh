# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# grpc_async.sh SOURCE BUILD - the interceptors under the asynchronous interfaces of
# grpc++, on both sides: callbacks, and a completion queue
#
#      curl --HTTP--> A --gRPC--> M (grpc++, asynchronous) --gRPC--> C --HTTP--> D
. "$(dirname "$0")/system.sh"
source=$1
build=$2
. "$(dirname "$0")/grpc_middle_build.sh"
need curl
GRPC_VERBOSITY=NONE
export GRPC_VERBOSITY

say 'the service compiles, without a warning in our header'
build_grpc_middle "$source" "$build" grpc_async

rm -rf logs-*
start d "$CPT_HELPERS/grpc_chain" D --listen 127.0.0.1:0 --probability 1
await d.out 'listens on'
start c "$CPT_HELPERS/grpc_chain" C --listen 127.0.0.1:0 --probability 1 \
    --to "d=http://$(sed -n 's/.*listens on //p' d.out)"
await c.out '^grpc '
c=127.0.0.1:$(sed -n 's/^grpc //p' c.out)

# has FILE PATTERN...: each of them in a line of the path, and no blind spot.
has() {
    file=$1
    shift
    for pattern; do
        grep -q "$pattern" "$file" || fail "no '$pattern' in $(cat "$file")"
    done
    if grep -q 'blind spot' "$file"; then fail "a blind spot: $(cat "$file")"; fi
}

for kind in callback queue; do
    mkdir logs-$kind
    start m-$kind ./grpc_async $kind "$c" logs-$kind
    m_pid=$pid
    await m-$kind.out '^grpc '
    m=127.0.0.1:$(sed -n 's/^grpc //p' m-$kind.out)
    start a-$kind "$CPT_HELPERS/grpc_chain" A --listen 127.0.0.1:0 --probability 1 \
        --trust 127.0.0.0/8 --to "m=$m"
    a_pid=$pid
    await a-$kind.out 'listens on'
    a=http://$(sed -n 's/.*listens on //p' a-$kind.out)

    for what in once many row other; do
        say "$kind: $what"
        ask "$a/?$what" $what 'critical-path: 1;forced'
        [ "$(tail -c +3 $what.body)" = "hello $what" ] || fail "$(cat $what.body)"
        "$CPT" metadata <$what >$what.txt 2>&1 || fail "$(cat $what $what.txt)"
        has $what.txt 'A: page' 'M: /demo.Greeter/Hello' 'C: stock' 'D: leaf\|d: nap'
    done
    has other.txt 'M: elsewhere'

    say "$kind: requests at the same time stay apart"
    pids=
    for i in 1 2 3 4 5 6 7 8 9 10; do
        ask "$a/?once" at$i 'critical-path: 1;forced' &
        pids="$pids $!"
    done
    # shellcheck disable=SC2086
    wait $pids
    for i in 1 2 3 4 5 6 7 8 9 10; do
        "$CPT" metadata <at$i >at.txt 2>&1 || fail "$(cat at$i at.txt)"
        has at.txt 'A: page' 'M: /demo.Greeter/Hello' 'C: stock'
    done
    kill "$a_pid" "$m_pid"
    wait "$a_pid" || fail "A ends with $(cat a-$kind.err)"
    wait "$m_pid" || fail "M ends with $(cat m-$kind.err)"
    "$CPT" log --check logs-$kind >checked || fail "$(cat checked)"
    cat checked
done
say 'all is well'
