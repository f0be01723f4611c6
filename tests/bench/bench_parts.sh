# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# bench_parts.sh BENCH_PARTS - the instructions of a request, and of one more task, call
# and attribute, untraced and traced. Of each way bench_parts serves 1,000 and 3,000
# requests under callgrind: what they differ by is that of 2,000, without the beginning
# and the end of the program. They hardly depend on the load of the machine.
set -eu
program=$1
said=$(mktemp)
trap 'rm -f "$said"' EXIT INT TERM

# count WAY TRACED COUNT: the instructions of the whole run
count()
{
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$1" "$2" "$3" \
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
