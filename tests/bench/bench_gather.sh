# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# bench_gather.sh FILE FOLDER - the notes of all benchmark programs in FOLDER (bench.h:
# arrays with one object on each line) as one array in FILE, and as a table
set -u
file=$1
folder=$2

{
    echo '['
    for notes in "$folder"/*.json; do
        [ -e "$notes" ] && grep '^{' "$notes" | sed 's/,$//'
    done | sed '$!s/$/,/'
    echo ']'
} >"$file" || exit 1

# The fields of an object in the order in which bench.c writes them.
echo
echo "Medians of what was measured in one rotation each; ratios are to the baseline:"
sed -n 's/^{"name": "\(.*\)", "value": \([^,]*\), "unit": "\([^"]*\)", "baseline": "\{0,1\}\([^"]*\)"\{0,1\}, "ratio": \([^,]*\),.*/\1|\2|\3|\5|\4/p' \
    "$file" | awk -F '|' '{
        sub(/^bench_/, "", $1)
        gsub(/\\"/, "\"", $1)
        ratio = $4 == "null" ? "" : sprintf("%9.3f of %s", $4, $5)
        printf "%-86s %10.4g %-16s %s\n", $1, $2, $3, ratio
    }'
echo "$(grep -c '^{' "$file") figures in $file"
