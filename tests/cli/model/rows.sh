# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# rows.sh - functions of the tests here: lines of requests, as CSV
#
#      head; request ID AT_US 'SERVICE EVENT[ EVENT]...'...
#
# One unit a word, and 100 us between two lines.
head()
{
    echo id,service,unit,event,time_us
}
request()
{
    id=$1
    at=$(($2 + 1700000000000000))
    shift 2
    for unit in "$@"; do
        service=${unit%% *}
        for event in ${unit#* }; do
            echo "$id,$service,$id.$service,$event,$at"
            at=$((at + 101))
        done
    done
}
# requests LETTER COUNT UNIT...: that many
requests()
{
    letter=$1
    count=$2
    shift 2
    while [ $count -gt 0 ]; do
        request $letter$count $((count * 1000000)) "$@"
        count=$((count - 1))
    done
}
