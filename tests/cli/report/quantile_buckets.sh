# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# between which times a histogram knows a quantile is in fields of their own
make_log experiment >a.cptlog
cpt report --json --quantiles 50%,100% a.cptlog | grep -o '"bucket_[a-z]*_ns":[0-9.]*' | head -4
# a frame without time of its own is present in all views
cpt diff --json --by name a.cptlog --base arm=control --new arm=treatment |
    grep '"stack":."A: /"' | grep -o '"[a-z]*_presence":[0-9]*'
cpt diff --json a.cptlog --base arm=control --new arm=treatment |
    grep '"stack":."A: /".,' | grep -o '"[a-z]*_presence":[0-9]*'
# what is printed adds up: a stack is its own time and those of the stacks below it
cpt report --json a.cptlog | sed -n 's/^{"stack":.\(.*\)."kind.*"self_ns":\([0-9]*\),"inclusive_ns":\([0-9]*\).*/\1|\2|\3/p' >rows
awk -F'|' '{
        whole[$1] = $3
        sum[$1] += $2
        above = $1
        if (sub(/,"[^"]*"\]?$/, "", above)) {
            sub(/]$/, "", above)
            below[above "]"] += $3
            below[above] += $3
        }
    } END {
        for (stack in whole) {
            print (sum[stack] + below[stack] == whole[stack] ? "adds up" : "differs: " stack)
        }
    }' rows
