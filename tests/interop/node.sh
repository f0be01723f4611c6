#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# node.sh TEST [REQUESTS] - a test of Node's implementation: headers, belonging, log, load or
# proxies (with REQUESTS of them), or others, which needs packages of npm and installs them in
# the current folder. Exit 77: there is no Node, no proxy, or there are no such packages.
set -u
. "$(dirname "$0")/languages.sh"
need_language node
tests=$CPT_SOURCE/tests/interop
ours=$CPT_INTEROP/node

# As they were when this was tried; @grpc/grpc-js and axios of later minor versions as well.
packages='@opentelemetry/api@1.9.1 @opentelemetry/core@2.12.0
@opentelemetry/sdk-trace-node@2.12.0 @opentelemetry/propagator-b3@2.12.0
@opentelemetry/instrumentation@0.223.0 @opentelemetry/instrumentation-http@0.223.0
@opentelemetry/instrumentation-undici@0.33.0 @grpc/grpc-js@1.14.7 axios@1.21.1 undici@7.30.2'

need_packages()
{
    [ -e node_modules/undici ] && [ -e node_modules/axios ] && return
    command -v npm > /dev/null || { echo "skipped: there is no npm"; exit 77; }
    echo '{"private": true}' > package.json
    # shellcheck disable=SC2086 # a list
    timeout 300 npm install --no-audit --no-fund --ignore-scripts $packages > npm.log 2>&1 || {
        tail -5 npm.log
        echo "skipped: the packages cannot be installed"
        exit 77
    }
}

case $1 in
headers | belonging | log) exec "$node" "$tests/test_node_$1.js" "$ours" ;;
load) exec "$node" --expose-gc "$tests/test_node_load.js" "$ours" "${2:-500}" ;;
proxies)
    need_language python
    exec "$python" -B "$tests/test_node_proxies.py" "$node" "$CPT_INTEROP" "${2:-100}"
    ;;
others)
    need_packages
    exec "$node" "$tests/test_node_others.js" "$ours" .
    ;;
esac
echo "node.sh: no test $1"
exit 1
