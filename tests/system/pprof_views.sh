# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# pprof_views.sh - other reports of pprof: -peek, -tree, -raw, -svg; frame names stay
# unchanged.
. "$(dirname "$0")/pprof.sh"
profiles 7

say 'peek'
name=$(awk -F "$tab" '$1 > 0 && $3 == "A: /" { print $3 }' base.frames)
[ -n "$name" ] || fail 'the profile has no A: /'
exact -peek '^A: /$' base.pb.gz >peek.txt
grep "| A: /$" peek.txt | awk '{ sub(/ns/, "", $1); sub(/ns/, "", $4); print $1, $4 }' \
    >peek.rows
awk -F "$tab" '$3 == "A: /" { print $1, $2 }' base.frames >peek.expected
cat peek.rows >>peek.txt
grep -qxF "$(cat peek.expected)" peek.rows ||
    fail "peek says $(cat peek.rows), not $(cat peek.expected)"

say 'tree, list of tags, raw'
exact -tree base.pb.gz >tree.txt
grep -q 'A: /' tree.txt || fail 'A: / is not in the tree'
exact -raw base.pb.gz >raw.txt
grep -q '^requests/count critical_path_total/nanoseconds critical_path/nanoseconds\[dflt\]' \
    raw.txt || fail "the types are others: $(grep count raw.txt)"
grep -q 'PeriodType: critical_path nanoseconds' raw.txt || fail 'no period type'
grep -q '1: 0x0/0x0/0x0 A ' raw.txt || fail "the mapping: $(tail -3 raw.txt)"

say 'svg'
command -v dot >/dev/null 2>&1 || {
    echo 'skipped: dot is not installed'
    exit 77
}
go tool pprof -unit=ms -svg -output=base.svg base.pb.gz >svg.txt 2>&1 || fail "$(cat svg.txt)"
grep -q '</svg>' base.svg || fail 'the picture is not whole'
grep -q 'Lookup' base.svg || fail 'a frame is missing in the picture'
