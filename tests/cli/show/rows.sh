# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the longest rows are drawn; the self times always add up
make_log experiment >a.cptlog
cpt show --record 3 --rows 4 a.cptlog
for rows in 1 2 3 4 5 6 60; do
    cpt show --record 3 --rows $rows a.cptlog | LC_ALL=C.UTF-8 awk '/^$/ { in_rows = 1 }
        in_rows && match($0, / [0-9]+\.[0-9]+  /) && !/self ms/ {
            sum += substr($0, RSTART, RLENGTH); count++ }
        END { printf "%d %.3f\n", count, sum }'
done
