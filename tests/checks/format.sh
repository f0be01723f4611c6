#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# format.sh SOURCE [--fix] - the C files are as clang-format 14 writes them, and no line
# of them is wider than 88 columns: clang-format leaves comments alone, as it would
# destroy the pictures in them. Other versions of clang-format write other things, so
# without version 14 that part is skipped (77).
set -u
cd "$1" || exit 2
. tests/checks/files.sh
for formatter in clang-format-14 clang-format; do
    "$formatter" --version 2>/dev/null | grep -q 'version 14\.' && break
    formatter=
done
if [ -n "$formatter" ] && [ "${2:-}" = --fix ]; then
    sources '[ch]' | xargs "$formatter" -i
    exit
fi

# Only lines with comments: the rest is as wide as clang-format makes it. Columns are
# characters: of one in UTF-8, the bytes 80 to bf are not counted.
sources '[ch]' | LC_ALL=C awk '
    function check(file,    line, columns, count, inside)
    {
        while ((getline line < file) > 0) {
            count++
            inside = line ~ /\/\*/ || (inside && last !~ /\*\/ *$/)
            last = line
            columns = length(line)
            if (columns > 88 && inside) {
                columns -= gsub(/[\200-\277]/, "", line)
                if (columns > 88) {
                    print file ":" count ": " columns " columns, the limit is 88"
                    failed = 1
                }
            }
        }
        close(file)
    }
    { check($0) }
    END { exit failed }' || exit 1

[ -n "$formatter" ] || { echo "format: no clang-format 14"; exit 77; }
sources '[ch]' | xargs "$formatter" --dry-run -Werror || {
    echo "format: tests/checks/format.sh . --fix puts it right"
    exit 1
}
echo "format: $(sources '[ch]' | wc -l) files are as clang-format writes them"
