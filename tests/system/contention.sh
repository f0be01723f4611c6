# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# contention.sh PROGRAM - Figure 2b: what A2 has, which is on no path, A1 waits for: a lock, the
# only worker, the only processor. A2 is the first of all culprits.
. "$(dirname "$0")/system.sh"
program=$1

# way KIND: the first culprit of that log
first() {
    "$CPT" contention --json "$1.cptlog" >"$1.json"
    python3 - "$1.json" "$2" <<'END'
import json, sys
answer = json.load(open(sys.argv[1]))
first = answer["culprits"][0]
assert (first["culprit"], first["kind"]) == ("A: A2", sys.argv[2]), answer["culprits"]
assert first["mean_ns"] > 0 and first["low_ns"] <= first["mean_ns"] <= first["high_ns"], first
victims = [row for row in answer["pairs"] if row["culprit"] == "A: A2" and row["kind"] == sys.argv[2]]
assert victims[0]["victim"] == "A: A1", victims
END
}

say 'A2 holds the lock'
"$program" lock lock.cptlog
first lock lock

say 'A2 has the worker'
"$program" worker worker.cptlog
first worker queue

say 'A2 has the processor'
if "$program" cpu cpu.cptlog; then
    if read -r ran delay turns </proc/thread-self/schedstat 2>/dev/null && [ "$turns" != 0 ]; then
        first cpu run_delay
    else
        "$CPT" contention cpu.cptlog | grep -q 'how much of it was run delay is not measured'
        say "skipped: the kernel keeps no run delay ($ran $delay)"
    fi
else
    [ $? = 2 ] || fail 'the program failed'
    say 'skipped: threads cannot be bound to a processor'
fi
