# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# collect_grpc.sh - cpt collect over gRPC: the same records, and what is refused.
. "$(dirname "$0")/system.sh"
python=
for one in python3 /usr/bin/python3; do
    "$one" -c 'import grpc' 2>/dev/null && python=$one
done
[ -n "$python" ] || {
    echo 'skipped: python3-grpcio is not installed'
    exit 77
}
client="$(dirname "$0")/collect_client.py"

rm -rf logs ./*.json ./*.cptlog
"$python" "$client" spans 100 11 some.json
"$CPT" import -o some.cptlog some.json
start collect "$CPT" collect -o logs --port 0 --grpc-port 0 --priority normal --quiet 60s
await collect.out 'Ctrl-C ends it'
port=$(sed -n 's|.*gRPC 127.0.0.1:\([0-9]*\) .*|\1|p' collect.out)
[ -n "$port" ] || fail "no port in $(cat collect.out)"
"$python" "$client" grpc "$port" some.json
kill -TERM "$pid"
wait "$pid" || fail "it ended with $?: $(cat collect.err)"
"$CPT" log --json some.cptlog | sort >imported
"$CPT" log --json logs | sort >collected
cmp imported collected || fail 'the records differ'
