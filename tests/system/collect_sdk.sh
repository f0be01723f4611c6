# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# collect_sdk.sh - cpt collect, with OpenTelemetry's SDK for Node as the sender, in
# protobuf and in JSON, compressed and not: each trace becomes a record with its path.
#
# The SDK is taken from $CPT_OTEL_NODE (a folder with its node_modules) or from npm, and
# the test is skipped without it: Debian has no SDK that sends OTLP.
. "$(dirname "$0")/system.sh"
need node curl
sender="$(cd "$(dirname "$0")" && pwd)/collect_sdk.mjs"
work=$PWD

sdk=${CPT_OTEL_NODE:-}
if [ -z "$sdk" ]; then
    command -v npm >/dev/null || { echo "skipped: neither the SDK nor npm"; exit 77; }
    mkdir -p sdk
    sdk=$PWD/sdk
    [ -d sdk/node_modules/@opentelemetry/sdk-trace-node ] ||
        timeout 100 npm install --prefix sdk --no-audit --no-fund \
            @opentelemetry/sdk-trace-node@2.12.0 \
            @opentelemetry/exporter-trace-otlp-proto@0.223.1 \
            @opentelemetry/exporter-trace-otlp-http@0.223.1 >npm.out 2>&1 ||
        { echo "skipped: npm has no SDK"; exit 77; }
fi

rm -rf logs
start collect "$CPT" collect -o logs --port 0 --priority normal --quiet 1s
await collect.out 'Ctrl-C ends it'
endpoint=$(sed -n 's|.*\(http://127.0.0.1:[0-9]*\)/v1/traces.*|\1|p' collect.out)

: >sent
for kind in proto http; do
    for compression in none gzip; do
        say "$kind, compression $compression"
        (cd "$sdk" && OTEL_EXPORTER_OTLP_ENDPOINT=$endpoint \
            OTEL_EXPORTER_OTLP_COMPRESSION=$compression timeout 60 \
            node "$sender" "$kind" 100 >>"$work/sent") || fail "the SDK: $kind $compression"
    done
done
kill -TERM "$pid"
wait "$pid" || fail "cpt collect: $(cat collect.err)"
cat collect.err

say 'each trace is a record, with its path'
[ "$(sort -u sent | wc -l)" = 400 ] || fail "$(wc -l <sent) traces were sent"
"$CPT" log --json logs | sed -n 's/.*"trace_id":"\([0-9a-f]*\)".*/\1/p' | sort >records
sort sent | cmp - records || fail "$(wc -l <records) records"
"$CPT" log --json logs | grep -c '"latency_ns":100000000,' | grep -qx 400 || fail 'latencies'
"$CPT" log --json logs | grep -c '"status":"error"' | grep -qx 200 || fail 'errors'
"$CPT" folded logs | sort >paths
cat >expected <<END
front: GET / 30000000
front: GET /;store: get 60000000
front: GET /;store: get;store: ‹network+serialization› 10000000
END
cmp expected paths || fail "$(cat paths)"
