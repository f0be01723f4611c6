# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# system.sh - shared by the system tests; sourced. Every process that a test starts with
# `start` is ended when the test ends, in any way.
set -eu

started=

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

say() {
    echo "-- $*"
}

need() {
    for program in "$@"; do
        command -v "$program" >/dev/null 2>&1 || {
            echo "skipped: $program is not installed"
            exit 77
        }
    done
}

stop_all() {
    status=$?
    trap - EXIT
    for pid in $started; do
        kill "$pid" 2>/dev/null || true
    done
    for pid in $started; do
        wait "$pid" 2>/dev/null || true
    done
    exit $status
}
trap stop_all EXIT
trap 'exit 1' INT TERM HUP

# start NAME COMMAND...: runs it in the background, its output in NAME.out, NAME.err.
# $pid is its process.
start() {
    name=$1
    shift
    : >"$name.out" # not what an earlier run left there
    : >"$name.err"
    "$@" >"$name.out" 2>"$name.err" &
    pid=$!
    started="$started $pid"
}

# await FILE PATTERN [SECONDS]: until a line of FILE matches.
await() {
    tries=$((${3:-20} * 10))
    while ! grep -q "$2" "$1" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || fail "no '$2' in $1: $(cat "$1" 2>/dev/null | tail -5)"
        sleep 0.1
    done
}

# url NAME: the address of the service started as NAME.
url() {
    await "$1.out" 'http://127.0.0.1:'
    sed -n 's/^[A-Z] \(http:[^ ]*\).*/\1/p' "$1.out" | head -1
}

# ask URL FILE [HEADER]: the head of the reply to FILE, its body to FILE.body.
ask() {
    if [ $# -gt 2 ]; then
        curl -s --max-time 20 -D "$2" -o "$2.body" -H "$3" "$1"
    else
        curl -s --max-time 20 -D "$2" -o "$2.body" "$1"
    fi
}

# path_of FILE: the value of critical-path-bin in a head.
path_of() {
    tr -d '\r' <"$1" | sed -n 's/^critical-path-bin: *//Ip'
}
