# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# an answer is never longer than --max-bytes: the largest rows, and the sum of the others
make_log experiment >a.cptlog
two='--base arm=control --new arm=treatment'
capped()
{
    for size in 1 100 200 250 300 350 400 500 600 700 800 1000 1500 1k 2k 3000 4k 8k 64k 1M; do
        case $size in
        *k) limit=$((${size%k} * 1024)) ;;
        *M) limit=$((${size%M} * 1048576)) ;;
        *) limit=$size ;;
        esac
        cpt "$@" --max-bytes $size >out 2>said
        status=$?
        bytes=$(wc -c <out)
        if [ $status != 0 ]; then
            # the size that the refusal names works, and one less does not
            least=$(grep -o '[0-9]* bytes$' said | cut -d' ' -f1)
            [ "$least" -gt $limit ] || echo "refuses $size, but $least work"
            cpt "$@" --max-bytes $least >out || echo "$least do not work"
            cpt "$@" --max-bytes $((least - 1)) >out 2>said && echo "less works, too"
        elif [ $bytes -gt $limit ]; then
            echo "$bytes bytes with --max-bytes $size"
        fi
    done
    cpt "$@" >all
    cmp out all >/dev/null || [ "$json" ] || echo "1M: not all"
    echo "$*: done"
}
capped report a.cptlog
capped report --quantiles 50%,99% a.cptlog
capped diff $two a.cptlog
capped diff --by name $two a.cptlog
capped diff --format markdown $two a.cptlog
json=1
capped report --json a.cptlog
capped diff --json $two a.cptlog
# the sums stay right, however many rows fit
cpt report --max-bytes 500 a.cptlog | grep -c ' more stacks)$'
for size in 1k 1500 2k; do
    cpt report --json --max-bytes $size a.cptlog | tr ',{}' '\n\n\n' |
        awk -F: '/"self_ns"/ { sum += $2 } /"rows":[0-9]/ { rest = $2 } /mean_latency_ns/ { mean = $2 }
            END { print sum, mean, rest > 0 ? "with a rest" : "all" }'
done
cpt diff --json --max-bytes 3k $two a.cptlog | grep -c '"rest":{"rows":[0-9]*,"base_ns":[0-9.-]*,"new_ns":[0-9.-]*,"delta_ns":[0-9.-]*}}'
for size in 0 -1 4x 4kk '' 1.5k 99999999999999999999; do
    cpt report --max-bytes "$size" a.cptlog
    echo $?
done
