#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# sizes.sh SOURCE - no function is longer than 70 lines and no file longer than 800; and
# where a folder is divided into rooms, few files lie outside of them. The aim is 40
# lines a function; 70 is the limit.
#
# In our format a function begins with a brace alone in the first column and ends with
# the next closing brace there.
set -u
cd "$1" || exit 2
. tests/checks/files.sh
failed=0

flat() # FOLDER LIMIT
{
    count=$(find "$1" -maxdepth 1 -type f | wc -l)
    [ "$count" -le "$2" ] || {
        echo "$1: $count files lie outside of its rooms, the limit is $2"
        failed=1
    }
}

flat framework 15
flat tool 2
sources '[ch]' | awk '
    function check(file)
    {
        count = 0
        start = 0
        while ((getline line < file) > 0) {
            count++
            if (line == "{") {
                start = count
            } else if (line == "}" && start) {
                if (count - start - 1 > 70) {
                    printf "%s:%d: a function of %d lines, the limit is 70\n", file,
                        start, count - start - 1
                    failed = 1
                }
                functions++
                if (count - start - 1 > 40) {
                    long_ones++
                }
                start = 0
            }
        }
        close(file)
        if (count > 800) {
            printf "%s: %d lines, the limit is 800\n", file, count
            failed = 1
        }
    }
    { check($0) }
    END {
        printf "sizes: %d functions, %d of them above 40 lines\n", functions, long_ones
        exit failed
    }' || failed=1
exit $failed
