#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# csv.sh PROGRAM - the tool that has csv_way.c reads its files in the commands that take
# spans: a report, slack, a page; and refuses what is wrong, by its place.
set -eu
cpt=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail()
{
    echo "csv.sh: $1" >&2
    exit 1
}

{
    printf 'trace,span,parent,service,operation,start_ns,duration_ns\r\n'
    printf '1,a,,front,/,0,100000\r\n1,b,a,cart,"get, ""add""",10000,50000\r\n'
    printf '\r\n1,c,a,stock,find,60000,20000\r\n'
    printf '2,d,,front,/,1000000,40000\n2,e,d,cart,"get, ""add""",1010000,20000'
} >spans.csv

"$cpt" report spans.csv >report.txt 2>told
grep -q 'cart: get, "add"' report.txt || fail "the report lacks a frame"
"$cpt" report --json spans.csv | tr , '\n' | grep -q '"records":2\|"requests":2' || fail "not two requests"
"$cpt" slack spans.csv >slack.txt
grep -q 'requests 2' slack.txt || fail "slack lacks requests"
grep -q 'who waited is inferred' slack.txt || fail "slack does not say how it is known"
"$cpt" whatif --set 'stock: find=0' --json spans.csv | grep -q '"change_ns":-10000' ||
    fail "without 20 µs in one of two requests the mean falls by 10"
"$cpt" report --html page.html spans.csv >/dev/null 2>&1
grep -q 'stock: find' page.html || fail "the page lacks a frame"
gzip -k spans.csv
"$cpt" slack spans.csv.gz | cmp -s - slack.txt || fail "compressed, it reads otherwise"

for line in '1,a,,front,/,0' '1,a,,front,/,0,1,2' '1,a,,front,/,x,1' '1,a,,"front,/,0,1' \
    '1,a,,front,/,9223372036854775808,1' '1,a,,front,/,9223372036854775807,9'; do
    printf 'trace,span,parent,service,operation,start_ns,duration_ns\n%s\n2,d,,front,/,0,40000\n' \
        "$line" >bad.csv
    if "$cpt" slack bad.csv >out 2>told; then
        fail "takes $line"
    fi
    grep -q 'bad.csv: at byte [0-9]*:' told || fail "does not say where $line is wrong"
    grep -q 'requests 1' out || fail "one bad line costs the others"
done
printf 'trace,span,parent,of,other,columns\n1,2,3\n' >other.csv
if "$cpt" slack other.csv >out 2>told; then
    fail "takes other columns"
fi
echo "csv_way: read in report, slack, whatif and page, and refused by its place"
