# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# pprof_drags.sh - go tool pprof reads profiles of drags and subtracts them, and refuses
# to subtract another kind.
. "$(dirname "$0")/pprof.sh"

# flat_rows FILE: the rows of a -top report as "flat TAB name", zeros left out.
flat_rows() {
    top_rows "$1" | awk -F "$tab" '$1 != 0 { printf "%s\t%s\n", $1, $3 }'
}

for seed in 1 2 3; do
    echo "seed $seed"
    "$CPT_HELPERS/drag_profiles" $seed .
    exact -top base.pb.gz >base.txt
    flat_rows base.txt >base.rows
    same 'drags by frame' base.flat base.rows
    exact -top -diff_base=base.pb.gz new.pb.gz >diff.txt
    flat_rows diff.txt >diff.rows
    same 'differences by frame' diff.flat diff.rows
done

say 'what the values mean stands above the report'
go tool pprof -comments base.pb.gz >comments.txt 2>&1 || fail "$(cat comments.txt)"
grep -q '^drags do not add up' comments.txt || fail "$(cat comments.txt)"

say 'the types are those of the kind'
exact -raw base.pb.gz >raw.txt
grep -q '^requests/count drag_total/nanoseconds drag/nanoseconds\[dflt\]$' raw.txt ||
    fail "$(head -20 raw.txt)"

say 'pprof refuses to subtract another kind'
if go tool pprof -top -diff_base=path.pb.gz base.pb.gz >refused.txt 2>&1; then
    fail "it did not: $(cat refused.txt)"
fi
grep -q 'incompatible types' refused.txt || fail "$(cat refused.txt)"
