# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# serving_out_of_memory.sh LIBRARY MAKE_LOG RUNS_MAX - `cpt web` and `cpt demo --serve` with
# one request for memory refused in each run: each begins or says why not, answers whole
# or with an error, and ends by SIGTERM; none ends by another signal.
. "$(dirname "$0")/system.sh"
need curl
library=$1
runs=$3
"$2" experiment >a.cptlog
[ -z "${CPT_SANITIZE:-}" ] || { echo 'skipped: sanitizers have their own malloc'; exit 77; }

# begin NAME K COMMAND...: starts it with request K refused; its address in $at, or empty.
begin() {
    begun=$1
    refused=$2
    shift 2
    rm -f "$begun.count"
    start "$begun" env CPT_FAIL_MALLOC="$refused" CPT_COUNT_MALLOC="$begun.count" \
        LD_PRELOAD="$library" "$@"
    at=
    for _ in $(seq 200); do
        at=$(grep -o 'http://127.0.0.1:[0-9]*' "$begun.out" | head -1)
        [ -z "$at" ] && kill -0 "$pid" 2>/dev/null || break
        sleep 0.05
    done
}

# end NAME: it has ended, or ends now, by no signal but SIGTERM.
end() {
    kill "$pid" 2>/dev/null || true
    code=0
    wait "$pid" || code=$?
    case $code in
    0 | 1 | 2 | 143) ;;
    *) fail "with request $refused refused $1 ended with $code: $(tail -3 "$1.err")" ;;
    esac
    [ -n "$at" ] || [ -s "$1.err" ] || fail "with request $refused refused $1 said nothing"
}

# questions FILE: what the page asks, and the answers.
questions() {
    for what in / /api/summary '/api/view?by=name' '/api/records?n=3'; do
        echo "$what $(curl -s --max-time 20 -o "$1.body" -w '%{http_code}' "$at$what")" >>"$1"
        cksum <"$1.body" >>"$1" 2>/dev/null || true
    done
}

say 'cpt web'
begin web 0 "$CPT" web a.cptlog
: >whole
questions whole
end web
total=$(cat web.count)
k=0
while [ $k -lt "$runs" ] && [ $k -lt "$total" ]; do
    begin web $((total - k * total / runs)) "$CPT" web a.cptlog
    if [ -n "$at" ]; then
        : >other
        questions other
        # Each answer of 200 is the same as without a failure.
        paste -d' ' - - <whole >whole.lines
        paste -d' ' - - <other | grep ' 200 ' >other.lines || true
        while read -r line; do
            case $line in
            /api/summary*) ;; # it tells the time
            *) grep -qxF "$line" whole.lines ||
                fail "with request $refused refused: $line" ;;
            esac
        done <other.lines
    fi
    end web
    k=$((k + 1))
done
say "$k of $total requests refused"

say 'cpt demo --serve'
begin demo 0 "$CPT" demo --serve --dir demo
end demo
total=$(cat demo.count)
k=0
while [ $k -lt $((runs / 4)) ] && [ $k -lt "$total" ]; do
    begin demo $((total - k * total / (runs / 4))) "$CPT" demo --serve --dir demo
    end demo
    k=$((k + 1))
done
say "$k of $total requests refused"
