#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# header_table.sh SOURCE BUILD - docs/headers.md has each public header once, says of it
# what its first line says, and names things that are in it, of a library that has them,
# in the package of that library.
set -u
cd "$1" || exit 2
build=$2
page=docs/headers.md
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0
count=0

complain()
{
    echo "$page: $1: $2"
    failed=1
}

# The part of a row in column $2 of those between the bars, without marks.
column() # ROW NUMBER
{
    echo "$1" | awk -F ' *[|] *' -v i="$2" '{ print $(i + 1) }' | sed 's/^`//; s/`$//'
}

library_of() # NAME
{
    find "$build/modules" \( -name "lib$1.a" -o -name "lib$1.so" \) | head -n 1
}

symbols_of() # NAME
{
    [ -e "$work/$1" ] || nm -g --defined-only "$(library_of "$1")" 2>/dev/null |
        awk '{ print $NF }' > "$work/$1"
    cat "$work/$1"
}

check_example() # HEADER FILE LIBRARY EXAMPLE
{
    case $4 in
    cpt_*'()')
        name=${4%??}
        grep -q "\\b$name(" "$2" || complain "$1" "there is no $4"
        # what is inline, or a macro, is in no library
        symbols_of "$3" | grep -qx "$name" || grep -qE "(inline .*|define )\\b$name\\(" "$2" ||
            complain "$1" "$4 is not in $3"
        ;;
    *) grep -qF "${4#cpt::}" "$2" || complain "$1" "there is no $4" ;;
    esac
}

check_row() # ROW
{
    header=$(column "$1" 1)
    what=$(column "$1" 2)
    examples=$(column "$1" 3)
    library=$(column "$1" 4)
    package=$(column "$1" 5)
    file=$build/include/cpt/$header
    echo "$header" >> "$work/rows"
    [ -e "$file" ] || { complain "$header" 'it is not there'; return; }
    sed -n "s|^[/ *]*$header - \(.*\)|\1|p" "$file" | head -n 1 | sed 's| *\*/$||' > "$work/first"
    [ "$what" = "$(cat "$work/first")" ] ||
        complain "$header" "it says of itself: $(cat "$work/first")"
    [ -n "$(library_of "$library")" ] || { complain "$header" "there is no $library"; return; }
    grep -q "^Libs:.*-l$library\\b" "$build/$package.pc" ||
        complain "$header" "$package.pc does not have -l$library"
    echo "\`$examples\`" | grep -o '`[^`]*`' | tr -d '`' | grep -v '^, $' > "$work/examples"
    while IFS= read -r example; do
        check_example "$header" "$file" "$library" "$example"
    done < "$work/examples"
    count=$((count + 1))
}

grep '^| `[a-z0-9_.]*` | .* | `cpt_[a-z]*` | `' "$page" > "$work/table"
: > "$work/rows"
while IFS= read -r row; do
    # without a transport its headers are not built
    package=$(column "$row" 5)
    [ -e "$build/$package.pc" ] || { column "$row" 1 >> "$work/rows"; continue; }
    check_row "$row"
done < "$work/table"
for file in "$build"/include/cpt/cpt*; do
    header=${file##*/}
    times=$(grep -cxF "$header" "$work/rows")
    [ "$times" = 1 ] || complain "$header" "it has $times rows"
done
[ $failed = 0 ] && echo "header_table: $count headers are what $page says"
exit $failed
