# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# pprof_diff.sh - go tool pprof -diff_base shows the differences of the averages, also
# between profiles with different numbers of requests.
. "$(dirname "$0")/pprof.sh"

for seed in 1 2 3 4 5; do
    profiles $seed
    exact -top -diff_base=base.pb.gz new.pb.gz >diff.txt
    top_rows diff.txt >diff.rows
    same 'differences by frame' diff.frames diff.rows

    say 'a profile does not differ from itself'
    exact -top -diff_base=base.pb.gz base.pb.gz >same.txt
    top_rows same.txt >same.rows
    [ ! -s same.rows ] || fail "$(cat same.rows)"
done

say 'the command that cpt prints'
go tool pprof -unit=ms -nodefraction=0 -edgefraction=0 -top -diff_base=base.pb.gz \
    new.pb.gz >printed.txt 2>&1 || fail "$(cat printed.txt)"
grep -q 'ms  *[0-9.]*%' printed.txt || fail "no milliseconds: $(cat printed.txt)"
