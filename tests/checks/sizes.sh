#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# sizes.sh SOURCE - no function is longer than 70 lines and no file longer than 800; a room
# has at most 25 modules, and at the root of a library stand its public headers alone. The
# aim is 40 lines a function; 70 is the limit. A module is a source with its header.
#
# Three rooms may be larger: the list of commands, and two where dividing them would make
# arrows in both directions.
#
# In our format a function begins with a brace alone in the first column and ends with
# the next closing brace there.
set -u
cd "$1" || exit 2
. tests/checks/files.sh
failed=0

large="framework/run framework/service tool/commands"
rooms=$(sources '[ch]' '[ch]pp' js | grep -E '^(cpt|framework|import|wire|aggregate|pprof-export|tool)/')
for room in $(echo "$rooms" | sed 's|/[^/]*$||' | sort -u); do
    count=$(echo "$rooms" | grep -E "^$room/[^/]+\$" | sed 's|\.[a-z]*$||' | sort -u | wc -l)
    case " $large " in
        *" $room "*) ;;
        *) [ "$count" -le 25 ] || {
            echo "$room: $count modules, the limit is 25"
            failed=1
        } ;;
    esac
done
for library in cpt framework framework/transport import wire aggregate pprof-export tool; do
    inside=$(echo "$rooms" | grep -E "^$library/[^/]+\$" | grep -v "^$library/cpt_[a-z0-9_]*\.h\$")
    [ -z "$inside" ] || {
        echo "$library: only public headers stand outside of its rooms, not" $inside
        failed=1
    }
done
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
