# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# demo_blind_spots.sh - C is replaced by a server without tracing, by one whose metadata
# is garbage, or by none: the request succeeds, and the time of the call is a blind spot
# below C, with the reason, and counted.
. "$(dirname "$0")/system.sh"
need curl python3

# one MODE REASON: B calls C in /B1, so C is on the path of A's home page.
one() {
    mode=$1
    reason=$2
    say "C is $mode: $reason"
    rm -f "$mode.cptlog"
    if [ "$mode" = down ]; then
        c=http://127.0.0.1:9 # no process listens on the discard port
    else
        start "c_$mode" "$CPT_HELPERS/stand_in" "$mode"
        c_pid=$pid
        c=$(url "c_$mode")
    fi
    start "b_$mode" "$CPT_EXAMPLES/figure1_b" --c "$c"
    b_pid=$pid
    b=$(url "b_$mode")
    start "a_$mode" "$CPT_EXAMPLES/figure1_a" --b "$b" --c "$c" --probability 1 \
        --log "$mode.cptlog"
    a_pid=$pid
    a=$(url "a_$mode")
    # A refusal may arrive before B2 waits for it; then it is not on the path.
    for _ in 1 2 3 4 5; do
        ask "$a/" "$mode.head" 'critical-path: 1;forced'
        "$CPT" metadata <"$mode.head" | grep -q 'C: ‹blind spot›' && break
    done
    curl -s "$a/cpt/counters" >"$mode.a_counters"
    curl -s "$b/cpt/counters" >"$mode.counters"
    grep -q '200' "$mode.head" || fail "$(cat "$mode.head")"
    grep -q 'the whole page' "$mode.head.body" ||
        fail "$(cat "$mode.head.body" "$mode.a_counters" | grep -v '"value":0')"
    "$CPT" metadata --json "$(path_of "$mode.head")" >"$mode.json"
    REASON=$reason python3 - "$mode" <<'PY'
import json, os, sys
mode, reason = sys.argv[1], os.environ["REASON"]
segments = json.load(open(mode + ".json"))["segments"]
blind = [s for s in segments if s["stack"][-1] == "C: ‹blind spot›"]
assert blind, [s["stack"] for s in segments]
assert any(s.get("reason") == reason for s in blind), (reason, blind)
assert all("C: C1" not in s["stack"] for s in segments)
counters = json.load(open(mode + ".counters"))["counters"]
counted = {c.get("member"): c["value"] for c in counters if c["name"] == "blind_spots"}
assert counted[reason] >= 1 and sum(counted.values()) == counted[reason], counted
PY
    kill "$a_pid" "$b_pid"
    [ "$mode" = down ] || kill "$c_pid"
    wait "$a_pid" || fail "A ended with $?"
    "$CPT" log --check "$mode.cptlog" >"$mode.check" || fail "$(cat "$mode.check")"
}

one plain unsupported
one garbage undecodable
one text undecodable
one cached cached
one close failed
one down failed
