# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# bench_scale.sh CPT BENCH_LOG [NOTES] - cpt aggregate on logs of several shapes, compared
# with a plain read of the same file, and with go's pprof, which merges the same requests
# from one profile each; and cpt report and cpt diff, compared with cpt aggregate. NOTES: a file for the figures as JSON, see bench.h; with --json
# the figures go to stdout, all else to stderr.
#
# CPT_CLICKHOUSE=clickhouse://HOST:PORT/DATABASE: also loads them there and queries them.
set -u
cpt=$1
bench_log=$2
notes=${3:-/dev/null}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT INT TERM
case $notes in
    --json)
        notes=/dev/fd/3
        exec 3>&1 >&2 ;;
    /*) ;;
    *) notes=$PWD/$notes ;;
esac
cd "$folder" || exit 1

# How often a command is timed, and the unit of a figure.
runs='1 2 3 4 5 6 7'
unit=s

# note NAME VALUE [BASELINE VALUE]: one figure of the notes
note()
{
    awk -v name="$shape: $1" -v value="$2" -v baseline="${3:-}" -v other="${4:-}" \
        -v unit="$unit" -v runs="$(echo $runs | wc -w)" 'BEGIN {
        printf "{\"name\": \"bench_scale: %s\", \"value\": %s, ", name, value
        printf "\"unit\": \"%s\", ", unit
        if (baseline == "") printf "\"baseline\": null, \"ratio\": null, "
        else printf "\"baseline\": \"%s\", \"ratio\": %.6g, ", baseline, value / other
        printf "\"runs\": %d}\n", runs
    }' >>figures
}

# At the end: the figures as an array.
put_notes()
{
    { echo '['; sed '$!s/$/,/' figures; echo ']'; } >"$notes"
}

# seconds COMMAND...: the shortest of several runs
seconds()
{
    for _ in $runs; do
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
    shape="$1 requests of $2 segments on $3 stacks"
    took=$(seconds read_all ./*.cptlog)
    echo "  plain read             $took s"
    note 'plain read' "$took"
    one=$(seconds "$cpt" aggregate -j 1 -o one.cpttree ./*.cptlog)
    echo "  aggregate, one thread  $one s, $(rate "$segments" "$one") M segments/s"
    note 'aggregate, one thread' "$one"
    took=$(seconds "$cpt" aggregate -o all.cpttree ./*.cptlog)
    echo "  aggregate, all threads $took s, $(rate "$segments" "$took") M segments/s"
    note 'aggregate, all threads' "$took" 'aggregate, one thread' "$one"
    cmp one.cpttree all.cpttree || exit 1
    [ -n "${CPT_CLICKHOUSE:-}" ] || return 0
    database=${CPT_CLICKHOUSE}_$1_$2_$3
    took=$(seconds "$cpt" load "$database" ./*.cptlog)
    echo "  cpt load               $took s"
    took=$(seconds "$cpt" aggregate -o store.cpttree "$database")
    echo "  aggregate clickhouse:  $took s, $(rate "$segments" "$took") M segments/s"
}

shape 4000 1000 200
(CPT_CLICKHOUSE= && shape 100000 1000 200) || exit 1 # the article's usual sample
shape 20000 100 100
shape 100000 20 20

# one file that all threads share
"$bench_log" 4000 1000 200 >one.log
shape='4000 requests of 1000 segments, one file'
echo "$shape"
one=$(seconds "$cpt" aggregate -j 1 -o one.cpttree one.log)
took=$(seconds "$cpt" aggregate -o all.cpttree one.log)
echo "  aggregate, one thread  $one s; all threads $took s"
note 'aggregate, one thread' "$one"
note 'aggregate, all threads' "$took" 'aggregate, one thread' "$one"
cmp one.cpttree all.cpttree || exit 1

# against NAME BASELINE SECONDS COMMAND...: a command compared with another one
against()
{
    name=$1
    baseline=$2
    theirs=$3
    shift 3
    ours=$(seconds "$@") || return 1
    echo "  $name $ours s, $(awk -v a="$ours" -v b="$theirs" 'BEGIN { printf "%.1f", a / b }') of $baseline"
    note "$name" "$ours" "$baseline" "$theirs"
}

# megabytes COMMAND...: its memory at most
megabytes()
{
    /usr/bin/time -f %M -o peak "$@" >out 2>said || { cat said >&2; return 1; }
    echo $(($(cat peak) / 1000))
}

# a million distinct stacks, each in some requests
runs='1 2 3'
for requests in 1000 3000; do
    shape="1000000 stacks, each in $((requests / 1000)) requests"
    "$bench_log" $requests 1000 1000 1000 >one.log
    echo "$shape"
    took=$(seconds "$cpt" aggregate -j 1 -o $requests.cpttree one.log)
    echo "  aggregate, one thread  $took s"
    note 'aggregate, one thread' "$took"
    against report 'aggregate, one thread' "$took" "$cpt" report $requests.cpttree
    [ -x /usr/bin/time ] || continue
    unit=MB
    size=$(megabytes "$cpt" aggregate -j 1 -o $requests.cpttree one.log)
    echo "  aggregate, one thread  $size MB at most"
    note 'memory of aggregate, one thread' "$size"
    more=$(megabytes "$cpt" report $requests.cpttree)
    echo "  report                 $more MB at most"
    note 'memory of report' "$more" 'aggregate, one thread' "$size"
    unit=s
done
against diff 'aggregate, one thread' "$took" "$cpt" diff 1000.cpttree 3000.cpttree
if [ -x /usr/bin/time ]; then
    unit=MB
    more=$(megabytes "$cpt" diff 1000.cpttree 3000.cpttree)
    echo "  diff                   $more MB at most"
    note 'memory of diff' "$more" 'aggregate, one thread' "$size"
    unit=s
fi
runs='1 2 3 4 5 6 7'
rm -f one.log 1000.cpttree 3000.cpttree

# by name: three trees instead of one
shape='20000 requests of 100 segments on 100 stacks, twice'
echo "$shape"
"$bench_log" 20000 100 100 >one.log
"$bench_log" 20000 101 100 >two.log
took=$(seconds "$cpt" diff one.log two.log)
echo "  diff                   $took s"
note diff "$took"
against 'diff --by name' diff "$took" "$cpt" diff --by name one.log two.log

# tables of frames that are never the same: each path is decoded
shape='8000 requests of 120 segments on 120 stacks'
echo "$shape"
"$bench_log" 8000 120 120 >one.log
"$bench_log" 8000 120 200 1 50 >two.log
took=$(seconds "$cpt" aggregate -j 1 -o one.cpttree one.log)
echo "  one table of frames    $took s"
note 'aggregate, one thread, one table of frames' "$took"
against 'each its own table of frames' 'one table' "$took" \
    "$cpt" aggregate -j 1 -o one.cpttree two.log
rm -f one.log two.log

# a report of ten thousand stacks
"$bench_log" 100 10000 10000 >one.log
"$cpt" aggregate -o large.cpttree one.log
shape='10000 stacks'
took=$(seconds "$cpt" report large.cpttree)
echo "report of a tree of 10000 stacks, 100 requests: $took s"
note report "$took"

command -v go >/dev/null || { echo 'go is not installed'; put_notes; exit 0; }
shape='1000 requests, a profile each'
echo '1000 requests of 1000 segments on 200 stacks, one profile and one tree each'
mkdir profiles trees
for i in $(seq 1000); do
    "$bench_log" 1 1000 200 >one.cptlog
    "$cpt" pprof -o profiles/$i.pb.gz one.cptlog >out 2>said || exit 1
    "$cpt" aggregate -o trees/$i.cpttree one.cptlog >out 2>said || exit 1
done
"$bench_log" 1000 1000 200 >all.cptlog
theirs=$(seconds go tool pprof -proto -output merged.pb.gz profiles/*.pb.gz)
echo "  go tool pprof -proto   $theirs s"
note 'go tool pprof -proto' "$theirs"
# beside NAME COMMAND...
beside()
{
    name=$1
    shift
    ours=$(seconds "$@")
    echo "  $name $ours s, $(awk -v a="$theirs" -v b="$ours" \
        'BEGIN { printf "%.0f", a / b }') times as fast"
    note "$name" "$ours" 'go tool pprof -proto' "$theirs"
}
beside 'cpt --version         ' "$cpt" --version
beside 'cpt aggregate, 1 thread' "$cpt" aggregate -j 1 -o one.cpttree all.cptlog
beside 'cpt aggregate         ' "$cpt" aggregate -o one.cpttree all.cptlog
beside 'cpt merge             ' "$cpt" merge -o two.cpttree trees/*.cpttree
put_notes
