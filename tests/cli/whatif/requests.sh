# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# requests.sh - makes spans.json: twelve requests, for tests to include
. "$(dirname "$0")/../spans.sh"
# A: a takes 4 ms and up; then A: b calls C twice, one call after the other; A: c runs beside A: b.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    n=$((i * 1000))
    a=$((4000000 + i * 100000))
    span $i $((n + 1)) '' 0 $((a + 12000000)) "request entry=A:%20%2f latency=$((a + 12000000)) by=$(id $((n + 3)))"
    span $i $((n + 2)) "$(id $((n + 1)))" 0 $a "task name=A:%20a start=0 end=$a executor=A"
    span $i $((n + 3)) "$(id $((n + 1)))" $a $((a + 12000000)) \
        "task name=A:%20b ready=$a start=$((a + 1000000)) end=$((a + 12000000)) after=$(id $((n + 2))) inputs=$(id $((n + 4))) executor=A"
    span $i $((n + 4)) "$(id $((n + 1)))" 0 3000000 "task name=A:%20c start=0 end=3000000 executor=A"
    for k in 0 1; do
        b=$((a + 2000000 + k * 5000000))
        span $i $((n + 10 + k)) "$(id $((n + 3)))" $b $((b + 4000000)) \
            "call name=C:%20C1 issuer=$(id $((n + 3))) waiter=$(id $((n + 3))) issue=$b arrive=$((b + 4000000)) outcome=1"
        span $i $((n + 20 + k)) "$(id $((n + 3)))" $b $((b + 4000000)) \
            "wait order=$((2 - k)) block=$b arrive=$((b + 4000000)) resume=$((b + 4000000)) for=$(id $((n + 10 + k)))"
    done
done >spans.json
