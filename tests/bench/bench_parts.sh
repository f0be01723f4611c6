# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# bench_parts.sh BENCH_PARTS - the instructions of a request, and of one more task, call
# and attribute, untraced and traced. Of each way bench_parts serves 1,000 and 3,000
# requests under callgrind: what they differ by is that of 2,000, without the beginning
# and the end of the program. They hardly depend on the load of the machine.
#
# A second table splits what is traced, asked for drags, or kept whole: making the path
# (cpti_recording_walk()), all else before the request is over, and the log's thread.
set -eu
program=$1
said=$(mktemp)
trap 'rm -f "$said"' EXIT INT TERM

# count WAY HOW COUNT [FUNCTION]: the instructions of the whole run, or in FUNCTION
count()
{
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        ${4:+"--toggle-collect=$4"} "$program" "$1" "$2" "$3" \
        >/dev/null 2>"$said" || { cat "$said" >&2; return 1; }
    awk '/Collected/ { print $NF }' "$said"
}

# row WAY PARTS: a line of the table; PARTS 0: it is the request itself
row()
{
    for traced in untraced traced; do
        few=$(count "$1" $traced 1000)
        many=$(count "$1" $traced 3000)
        [ "$2" -ne 0 ] || eval "request_$traced=$(((many - few) / 2000))"
        eval "request=\$request_$traced"
        awk -v few="$few" -v many="$many" -v request="$request" -v parts="$2" 'BEGIN {
            found = (many - few) / 2000
            printf "%10.0f", parts == 0 ? found : (found - request) / parts
        }'
    done
    echo "  $1"
}

printf '%10s%10s  instructions of\n' untraced traced
row request 0
row task 100
row call 20
row attribute 20

# each WAY HOW FUNCTION: of one request; without FUNCTION the whole
each()
{
    few=$(count "$1" "$2" 1000 "$3")
    many=$(count "$1" "$2" 3000 "$3")
    echo $(((many - few) / 2000))
}

# split HOW WAY PARTS: a line of the second table
split()
{
    for where in '' cpti_recording_walk run_writer; do
        found=$(each "$2" "$1" "$where")
        [ "$3" -ne 0 ] || eval "request_$where=$found"
        eval "request=\$request_$where"
        eval "found_$where=$(awk -v found="$found" -v request="$request" -v parts="$3" \
            'BEGIN { print parts == 0 ? found : (found - request) / parts }')"
    done
    awk -v all="$found_" -v path="$found_cpti_recording_walk" -v kept="$found_run_writer" \
        -v name="$1: $2" 'BEGIN {
        printf "%10.0f%10.0f%10.0f  %s\n", all - path - kept, path, kept, name
    }'
}

printf '\n%10s%10s%10s  instructions of\n' recorded path log
for how in traced drag graph; do
    split $how request 0
    split $how task 100
    split $how call 20
done
