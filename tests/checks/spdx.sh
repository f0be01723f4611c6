#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# spdx.sh SOURCE - every file that can hold a comment says its licence and its authors.
set -u
cd "$1" || exit 2
. tests/checks/files.sh
failed=0
count=0
list=$(mktemp) || exit 2
trap 'rm -f "$list"' EXIT
{
    sources '[ch]' cmake sh proto py cddl options
    sources txt | grep '\(^\|/\)CMakeLists\.txt$'
    ls Makefile .ci/run
} > "$list"
while IFS= read -r file; do
    count=$((count + 1))
    for line in 'SPDX-License-Identifier: Apache-2.0' \
        'SPDX-FileCopyrightText: The cpt authors'; do
        head -n 5 "$file" | grep -q "$line" || {
            echo "$file: no line '$line'"
            failed=1
        }
    done
done < "$list"
[ $failed = 0 ] && echo "spdx: $count files say their licence"
exit $failed
