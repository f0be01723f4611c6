# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# pprof_numbers.sh - -top, -files and -traces of a profile show the numbers of the tree,
# to the nanosecond; requests are counted once; two profiles merge.
. "$(dirname "$0")/pprof.sh"

for seed in 1 2 3 4 5; do
    profiles $seed

    say 'by frame'
    exact -top base.pb.gz >top.txt
    top_rows top.txt >top.rows
    same 'flat and cum by frame' base.frames top.rows
    mean=$(awk -F "$tab" '{ sum += $1 } END { printf "%d", sum }' base.frames)
    grep -q " of ${mean}ns total" top.txt || fail "the total is not $mean: $(cat top.txt)"
    grep -q '^Type: critical_path$' top.txt || fail 'the default is another type'
    grep -q '^File: A$' top.txt || fail 'the title is another'
    grep -q '^where: arm=control$' top.txt || fail 'the selection is not shown'
    ! grep -q '^Duration' top.txt || fail 'there is a duration'

    say 'by service'
    exact -top -files base.pb.gz >files.txt
    top_rows files.txt >files.rows
    same 'flat and cum by service' base.services files.rows

    say 'by stack'
    # a stack is printed leaf first, the first line with the value in front
    exact -traces base.pb.gz | awk '
        function flush() {
            if (stack != "" && value != 0) printf "%s\t%s\n", value, stack
            stack = ""
        }
        /^-----------\+/ { flush(); is_stack = 1; is_first = 1; next }
        is_stack {
            name = $0
            if (is_first) {
                value = $1; sub(/ns$/, "", value)
                sub(/^ *[^ ]+ +/, "", name)
            } else sub(/^ +/, "", name)
            stack = is_first ? name : name ";" stack
            is_first = 0
        }
        END { flush() }' >traces.rows
    same 'time by stack' base.stacks traces.rows

    say 'requests and totals'
    go tool pprof -sample_index=requests -top base.pb.gz >requests.txt 2>&1
    # one random request in some has no segment at all: it is in no stack
    counted=$(sed -n 's/.* of \([0-9]*\) total$/\1/p' requests.txt)
    [ "$counted" -gt 0 ] || fail "no requests are counted: $(cat requests.txt)"
    exact -sample_index=critical_path_total -top base.pb.gz >total.txt
    total=$(sed -n 's/.* of \([0-9]*\)ns total$/\1/p' total.txt)
    [ "$((total / base_requests))" -ge "$((mean - 1))" ] &&
        [ "$((total / base_requests))" -le "$((mean + 1))" ] ||
        fail "the total $total is not $base_requests times $mean"

    say 'two profiles merged by pprof'
    exact -sample_index=critical_path_total -top new.pb.gz >new_total.txt
    new_total=$(sed -n 's/.* of \([0-9]*\)ns total$/\1/p' new_total.txt)
    exact -proto -output merged.pb.gz base.pb.gz new.pb.gz
    exact -sample_index=critical_path_total -top merged.pb.gz >merged.txt
    grep -q " of $((total + new_total))ns total" merged.txt || fail "$(head -20 merged.txt)"
done
