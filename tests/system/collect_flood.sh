# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# collect_flood.sh - small requests to cpt collect that mean very many traces: the memory
# of the process stays near what --memory says, other clients are answered meanwhile, and
# nothing is lost that fits. CPT_FLOOD_SPANS: how many spans a request has;
# 1000000 is what a default of 64 MiB lets in.
. "$(dirname "$0")/system.sh"
need python3 gzip
flood="$(dirname "$0")/collect_flood.py"
python=python3
for one in python3 /usr/bin/python3; do
    "$one" -c 'import grpc' 2>/dev/null && python=$one
done
spans=${CPT_FLOOD_SPANS:-80000}
rm -rf logs ./flood.*

# collect ARGUMENTS...: starts a collector; $port and $grpc_port are its ports.
collect()
{
    start collect "$CPT" collect -o logs --port 0 --priority normal --memory 16 "$@"
    await collect.out 'Ctrl-C ends it'
    port=$(sed -n 's|.*http://127.0.0.1:\([0-9]*\)/v1/traces.*|\1|p' collect.out)
    grpc_port=$(sed -n 's|.*gRPC 127.0.0.1:\([0-9]*\) .*|\1|p' collect.out)
    [ -n "$port" ] || fail "no port in $(cat collect.out)"
}

stop()
{
    kill -TERM "$pid"
    wait "$pid" || fail "it ended with $?: $(cat collect.err)"
    "$CPT" log --check logs >/dev/null || fail 'the log'
    rm -rf logs
}

for kind in protobuf json; do
    count=$spans
    [ $kind = protobuf ] || count=$((spans / 3))
    for way in plain scattered late; do
        say "$kind, $way"
        "$python" "$flood" make flood.$way $kind $count $way
        gzip -f -k -1 flood.$way
        collect
        "$python" "$flood" flood "$port" "$pid" 115 flood.$way.gz $kind gzip 1
        [ $way != plain ] || [ "$(wc -c <flood.$way)" -gt 20000000 ] ||
            "$python" "$flood" flood "$port" "$pid" 115 flood.$way $kind identity 1
        stop
    done
    say "$kind, from six clients at once"
    collect
    "$python" "$flood" flood "$port" "$pid" 160 flood.plain.gz $kind gzip 6
    stop
done

say 'all of a large request is in the log, if it fits'
"$python" "$flood" make flood.some json 20000 late
gzip -f flood.some
start collect "$CPT" collect -o logs --port 0 --priority normal
await collect.out 'Ctrl-C ends it'
port=$(sed -n 's|.*http://127.0.0.1:\([0-9]*\)/v1/traces.*|\1|p' collect.out)
"$python" "$flood" flood "$port" "$pid" 300 flood.some.gz json gzip 1
kill -TERM "$pid"
wait "$pid" || fail "it ended with $?: $(cat collect.err)"
found=$("$CPT" log --json logs | grep -c '"entry":"flood' || true)
[ "$found" -ge 20000 ] || fail "$found records of 20000"
rm -rf logs

"$python" -c 'import grpc' 2>/dev/null && [ -x "$(dirname "$CPT")/cpt-collect-grpc" ] || {
    echo 'gRPC is not tried: it is not installed'
    exit 0
}
say 'gRPC'
"$python" "$flood" make flood.plain protobuf "$spans"
collect --grpc-port 0
"$python" "$flood" grpc "$port" "$grpc_port" "$pid" 120 flood.plain 1 >said
cat said
tail -1 said | grep -q OK || fail 'it is not taken'
stop

say 'gRPC, very many zeros'
head -c 300000000 /dev/zero >flood.zeros
collect --grpc-port 0
"$python" "$flood" grpc "$port" "$grpc_port" "$pid" 150 flood.zeros 1
stop
rm -f flood.zeros
