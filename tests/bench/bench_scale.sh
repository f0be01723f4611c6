# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# bench_scale.sh CPT BENCH_LOG - cpt aggregate on logs of several shapes, beside a plain
# read of the same file, and beside go's pprof, which merges the same requests from one
# profile each
#
# CPT_CLICKHOUSE=clickhouse://HOST:PORT/DATABASE: also loads them there and asks.
set -u
cpt=$1
bench_log=$2
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT INT TERM
cd "$folder" || exit 1

# seconds COMMAND...: the shorter of two runs
seconds()
{
    for _ in 1 2; do
        from=$(date +%s.%N)
        "$@" >out 2>said || { cat said >&2; return 1; }
        date +%s.%N | awk -v from="$from" '{ printf "%.4f\n", $1 - from }'
    done | sort -n | head -1
}

# rate COUNT SECONDS: millions a second
rate()
{
    awk -v count="$1" -v seconds="$2" 'BEGIN { printf "%.2f", count / seconds / 1e6 }'
}

read_all()
{
    cat "$@" >/dev/null
}

# shape REQUESTS SEGMENTS STACKS, in four files
shape()
{
    rm -f ./*.cptlog
    for part in 1 2 3 4; do
        "$bench_log" $(($1 / 4)) "$2" "$3" >$part.cptlog
    done
    bytes=$(cat ./*.cptlog | wc -c)
    segments=$(($1 * $2))
    echo "$1 requests, $2 segments on $3 stacks: $((bytes / $1)) bytes a request"
    took=$(seconds read_all ./*.cptlog)
    echo "  plain read             $took s"
    took=$(seconds "$cpt" aggregate -j 1 -o one.cpttree ./*.cptlog)
    echo "  aggregate, one thread  $took s, $(rate "$segments" "$took") M segments/s"
    took=$(seconds "$cpt" aggregate -o all.cpttree ./*.cptlog)
    echo "  aggregate, all threads $took s, $(rate "$segments" "$took") M segments/s"
    cmp one.cpttree all.cpttree || exit 1
    [ -n "${CPT_CLICKHOUSE:-}" ] || return 0
    database=${CPT_CLICKHOUSE}_$1_$2_$3
    took=$(seconds "$cpt" load "$database" ./*.cptlog)
    echo "  cpt load               $took s"
    took=$(seconds "$cpt" aggregate -o store.cpttree "$database")
    echo "  aggregate clickhouse:  $took s, $(rate "$segments" "$took") M segments/s"
}

shape 4000 1000 200
shape 20000 100 100
shape 100000 20 20

command -v go >/dev/null || { echo 'go is not installed'; exit 0; }
echo '1000 requests of 1000 segments on 200 stacks, one profile each'
mkdir profiles
for i in $(seq 1000); do
    "$bench_log" 1 1000 200 >one.cptlog
    "$cpt" pprof -o profiles/$i.pb.gz one.cptlog >out 2>said || exit 1
done
"$bench_log" 1000 1000 200 >all.cptlog
ours=$(seconds "$cpt" aggregate -j 1 -o one.cpttree all.cptlog)
theirs=$(seconds go tool pprof -proto -output merged.pb.gz profiles/*.pb.gz)
echo "  go tool pprof -proto   $theirs s"
echo "  cpt aggregate          $ours s, $(awk -v a="$theirs" -v b="$ours" \
    'BEGIN { printf "%.0f", a / b }') times as fast"
