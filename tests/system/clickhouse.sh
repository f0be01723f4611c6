# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# clickhouse.sh - the database gives the same trees as the logs, byte for byte; with two
# shards, one of which is killed during loading
#
# The servers are plain processes on free ports of the loopback interface, with all
# their files in a folder that is removed.
set -u
server=$(command -v clickhouse-server || ls /usr/sbin/clickhouse-server 2>/dev/null)
if [ -z "$server" ] || ! command -v curl >/dev/null; then
    echo "clickhouse-server or curl is not installed"
    exit 77
fi
if "$CPT" load clickhouse://127.0.0.1:1/a none 2>&1 | grep -q 'without libcurl'; then
    echo "cpt was built without libcurl"
    exit 77
fi

# The sockets and logs of a server need a short path that only this test uses.
folder=$(mktemp -d) || exit 99
pids=
stop_all()
{
    for pid in $pids; do
        kill -9 "$pid" 2>/dev/null
    done
    rm -rf "$folder"
}
trap stop_all EXIT
trap 'exit 99' INT TERM

fail()
{
    echo "FAILED: $*"
    tail -5 "$folder"/*/error.log 2>/dev/null
    exit 1
}

say()
{
    echo "-- $*"
}

# start SHARD PORT: writes its configuration and runs it; its process in $started.
start()
{
    mkdir -p "$folder/$1/data" "$folder/$1/tmp" "$folder/$1/formats"
    cat >"$folder/$1/config.xml" <<EOF
<?xml version="1.0"?>
<yandex>
    <logger><level>warning</level><log>$folder/$1/server.log</log>
        <errorlog>$folder/$1/error.log</errorlog></logger>
    <http_port>$2</http_port><tcp_port>$(($2 + 1))</tcp_port>
    <listen_host>127.0.0.1</listen_host>
    <interserver_http_host>127.0.0.1</interserver_http_host>
    <path>$folder/$1/data/</path><tmp_path>$folder/$1/tmp/</tmp_path>
    <format_schema_path>$folder/$1/formats/</format_schema_path>
    <mark_cache_size>67108864</mark_cache_size>
    <users_config>$folder/$1/users.xml</users_config>
    <default_profile>default</default_profile><default_database>default</default_database>
</yandex>
EOF
    cat >"$folder/$1/users.xml" <<EOF
<?xml version="1.0"?>
<yandex>
    <profiles><default><max_memory_usage>2000000000</max_memory_usage>
        <max_read_buffer_size>65536</max_read_buffer_size></default></profiles>
    <users><default><password></password><networks><ip>127.0.0.1</ip></networks>
        <profile>default</profile><quota>default</quota></default></users>
    <quotas><default></default></quotas>
</yandex>
EOF
    "$server" --config-file="$folder/$1/config.xml" >"$folder/$1/output" 2>&1 &
    started=$!
    pids="$pids $started"
}

# is_up PORT
is_up()
{
    [ "$(curl -s -m 2 --noproxy '*' "http://127.0.0.1:$1/?query=SELECT%201" 2>/dev/null)" = 1 ]
}

# wait_up SHARD PORT PID
wait_up()
{
    for _ in $(seq 150); do
        is_up "$2" && return
        kill -0 "$3" 2>/dev/null || return 1
        sleep 0.2
    done
    return 1
}

# start_free SHARD: on ports that are free; the port in $port.
start_free()
{
    for try in 1 2 3 4 5 6 7 8; do
        port=$((20000 + ($$ * 7 + try * 977 + $1 * 4919) % 12000))
        start "$1" "$port"
        wait_up "$1" "$port" "$started" && return
        kill -9 "$started" 2>/dev/null
    done
    fail "no server starts: $(cat "$folder/$1/output")"
}

# sql PORT STATEMENT
sql()
{
    curl -s -m 60 --noproxy '*' "http://127.0.0.1:$1/" --data-binary "$2"
}

# same_tree WHAT OPTIONS...: the database and the logs make the same bytes.
same_tree()
{
    what=$1
    shift
    "$CPT" aggregate --no-source -o logs.cpttree "$@" $logs || fail "$what: logs"
    "$CPT" aggregate --no-source -o store.cpttree "$@" "$store" || fail "$what: database"
    cmp logs.cpttree store.cpttree || fail "$what: the trees differ"
    say "$what: the same tree"
}

# same_rows: the same without the number of records read, which is lower if the database
# skips those of other times and services.
same_rows()
{
    what=$1
    shift
    for side in logs store; do
        eval "files=\$$side"
        "$CPT" report --json "$@" $files >$side.json || fail "$what: $side"
        sed 's/"records":[0-9]*,//; s/"source":[^]]*\],//' $side.json >$side.rows
    done
    cmp logs.rows store.rows || fail "$what: the reports differ"
    say "$what: the same report"
}

make_log=$CPT_HELPERS/../cli/make_log
"$make_log" experiment >a.cptlog
"$make_log" services >b.cptlog
"$make_log" hostile >hostile.cptlog

start_free 0
first=$port
first_pid=$started
start_free 1
second=$port
second_pid=$started
store=clickhouse://127.0.0.1:$first,127.0.0.1:$second/cpt
say "two shards, version $(sql "$first" 'SELECT version()')"

say 'loading'
logs='a.cptlog'
"$CPT" load "$store" a.cptlog >loaded || fail load
[ "$(cat loaded)" = '120 requests' ] || fail "loaded $(cat loaded)"
for shard in $first $second; do
    [ "$(sql "$shard" 'SELECT count() > 30 FROM cpt.cpt_requests')" = 1 ] ||
        fail 'a shard has next to nothing'
done
same_tree 'all requests'
"$CPT" load "$store" a.cptlog a.cptlog >loaded || fail 'load again'
same_tree 'loaded three times'
"$CPT" load "$store" a.cptlog a.cptlog >loaded 2>said || fail 'load twice at once'
[ "$(cat loaded)" = '120 requests' ] || fail "loaded $(cat loaded), of them copies"
grep -q '^cpt: 120 records were given more than once and are loaded once' said || fail 'copies are not said'
# a copy is the same request, at once and later, at whatever place of its log
"$CPT" log -o turned.cptlog --where arm=treatment a.cptlog
copies=clickhouse://127.0.0.1:$first/copies
"$CPT" load "$copies" a.cptlog turned.cptlog >loaded 2>said || fail 'load a copy'
"$CPT" report a.cptlog turned.cptlog 2>none | head -1 >logs.txt
"$CPT" report "$copies" | head -1 >store.txt
cmp logs.txt store.txt || fail "copies: $(cat logs.txt store.txt)"
"$CPT" load "$copies" turned.cptlog >loaded 2>said || fail 'load a copy later'
"$CPT" report "$copies" | head -1 >store.txt
cmp logs.txt store.txt || fail "later copies: $(cat logs.txt store.txt)"
"$CPT" load --keep-duplicates "$copies" a.cptlog turned.cptlog >loaded 2>said || fail 'load copies'
[ ! -s said ] || fail "copies that are kept: $(cat said)"
"$CPT" report "$copies" | head -1 | cmp -s - logs.txt && fail 'copies are not kept'
say 'copies count once'
# like a table made before this column existed
sql "$first" 'ALTER TABLE cpt.cpt_requests DROP COLUMN ordinal'
same_tree 'without a column'
"$CPT" load "$store" a.cptlog >loaded || fail 'load into an older table'
same_tree 'with the column again' --sample 17 --seed 5
for condition in arm=control region=eu items=3 items=3.0 ratio=2.5 \
    cached=true status=503 failed=true method=/ meta.arm=control \
    trace_id=30313233343536373839616263646566; do
    same_tree "$condition" -w "$condition"
done
same_tree 'two terms' -w region=eu -w arm=treatment
same_tree 'an expression' -w 'arm == "control" and latency > 12ms and latency <= 20ms'
same_tree 'with forced ones' --include-forced
same_tree 'with fragments' --include-fragments
same_tree 'random ones with forced ones' --include-forced -w random=true
same_rows 'a window' --since 2026-11-21T06:00:30Z --until 2026-11-21T06:01:10Z

same_tree 'or, not, in' -w 'not (region == "eu" or items > 2.5) or arm in ("treatment", "x")'
same_tree 'a percentile' -w 'latency > p50 and latency <= p99.9'
same_tree 'a percentile of a part' -w 'arm == "control" and latency >= p75'
same_tree 'a sample' --sample 17 --seed 4
same_tree 'a sample of a part' --sample 17 -w 'region != "eu"'
same_tree 'all are the sample' --sample 1000

# same_output WHAT COMMAND OPTIONS...: both sources print the same.
same_output()
{
    what=$1
    shift
    "$CPT" "$@" $logs >logs.txt || fail "$what: logs"
    "$CPT" "$@" "$store" >store.txt || fail "$what: database"
    cmp logs.txt store.txt || fail "$what: what is printed differs"
    say "$what: the same output"
}

say 'requests one by one'
for by in stack name service edge; do
    same_output "by $by" diff --by $by --base arm=control --new arm=treatment
done
same_output 'a mix' diff --mix region --base arm=control --new arm=treatment
same_output 'precision' precision
same_output 'quantiles' report --quantiles 50%,99%
same_output 'clusters' report --cluster ratio
same_output 'a difference by cluster' diff --cluster ratio --base arm=control --new arm=treatment
for by in stack name; do
    same_output "a quantile by $by" diff --quantile p90 --by $by --base arm=control --new arm=treatment
done
same_output 'a quantile by cluster' diff --quantile p90 --cluster ratio --base arm=control --new arm=treatment
for side in logs store; do
    eval "files=\$$side"
    "$CPT" pprof -q --label-by arm -o - $files >$side.pb.gz || fail "labels: $side"
    "$CPT" report --html $side.html $files || fail "HTML: $side"
done
[ "$(gzip -dc logs.pb.gz | wc -c)" -gt "$(gzip -dc store.pb.gz | wc -c)" ] ||
    fail 'a profile of the database names a log' # it does not, and is otherwise as large
grep -q '"example":null' store.html || fail 'the order of a request is made up'

say 'what is not there'
"$CPT" report "$store" -w nosuch=1 2>said
[ $? = 1 ] || fail 'nothing selected has another exit status'
grep -q "no record has 'nosuch'" said || fail "said $(cat said)"
"$CPT" report "$store" -w arm=nosuch 2>said
grep -q "120 records" said || fail "said $(cat said)"
"$CPT" report --sample 5 "$store" a.cptlog 2>said
[ $? = 2 ] || fail 'a sample is drawn from log and database'
"$CPT" aggregate -o both.cpttree -w 'latency > p50' a.cptlog "$store" || fail 'log and database'
"$CPT" aggregate -o twice.cpttree --keep-duplicates -w 'latency > p50' a.cptlog a.cptlog ||
    fail 'twice'
for tree in both twice; do
    "$CPT" report "$tree.cpttree" | grep -v '^selection' >$tree.txt
done
cmp both.txt twice.txt || fail 'log and database are not the log twice'
for value in "x' OR 1=1 --" "\\' OR 1" '%27' "$(printf 'a\nb')"; do
    ! "$CPT" report "$store" -w "arm=$value" >said 2>&1 ||
        fail "a value selects something: $value: $(cat said)"
    ! "$CPT" report "$store" -w "meta.a'b=$value" >said 2>&1 ||
        fail "a key selects something: $(cat said)"
    "$CPT" report "$store" -e "$value" >said 2>&1
    [ $? = 1 ] || fail "a service selects something: $(cat said)"
done
"$CPT" load "clickhouse://127.0.0.1:$first/cpt;DROP" a.cptlog 2>said
[ $? = 2 ] || fail 'a database may have any name'
"$CPT" load "clickhouse://u:secret@127.0.0.1:$first/cpt" a.cptlog 2>said
[ $? = 2 ] || fail 'a password may be seen'

say 'hostile names'
plain=$store
store=${plain}_hostile
logs=hostile.cptlog
"$CPT" load "$store" hostile.cptlog >loaded || fail 'load hostile'
same_tree 'hostile names'

say 'several services'
store=${plain}_services
logs=b.cptlog
"$CPT" load "$store" b.cptlog >loaded || fail 'load services'
same_tree 'one of two services' # the other one's records are its own
same_rows 'the other one' -e B

# as_log COUNT: COUNT random selections; an empty selection is a valid result
as_log()
{
    "$CPT_HELPERS/store_random" selections "$seed" "$1" >selections || fail 'selections'
    number=0
    none=0
    while IFS= read -r selection; do
        number=$((number + 1))
        options=--keep-duplicates # some random records are empty, and so the same
        [ $((number % 5)) = 0 ] && options="$options --include-forced"
        [ $((number % 3)) = 0 ] && options="$options --include-fragments"
        [ $((number % 7)) = 0 ] && options="$options --sample 50 --seed $number"
        for side in logs store; do
            eval "files=\$$side"
            "$CPT" aggregate --no-source -e A $options -w "$selection" -o $side.cpttree \
                $files 2>$side.said
            echo $? >$side.exit
        done
        cmp -s logs.exit store.exit ||
            fail "exits differ: $options -w '$selection': $(cat logs.said store.said)"
        if [ "$(cat logs.exit)" = 0 ]; then
            cmp logs.cpttree store.cpttree || fail "trees differ: $options -w '$selection'"
        else
            none=$((none + 1))
        fi
    done <selections
    [ $((3 * none)) -lt "$1" ] || fail "nothing is selected by $none of $1"
}

seed=${CPT_TEST_SEED:-$(date +%s)}
say "random selections of random records, CPT_TEST_SEED=$seed"
store=${plain}_random
logs=random.cptlog
"$CPT_HELPERS/store_random" log "$seed" 3000 >random.cptlog || fail 'store_random'
"$CPT" load --keep-duplicates "$store" random.cptlog >loaded || fail 'load random'
as_log 60

say 'a batch of many months'
store=${plain}_months
logs=months.cptlog
"$CPT_HELPERS/store_random" months "$seed" 1500 >months.cptlog || fail 'store_random'
"$CPT" load --keep-duplicates "$store" months.cptlog >loaded || fail 'load months'
same_tree 'many months' -e A --keep-duplicates

say 'times that repeat: the database adds them up'
store=${plain}_repeated
logs=repeated.cptlog
"$CPT_HELPERS/store_log" 12000 300 >repeated.cptlog || fail 'store_log'
"$CPT" load "$store" repeated.cptlog >loaded || fail 'load repeated'
same_tree 'groups of any times'
same_tree 'groups of short times' -w 'latency < 4s'

say 'a shard is killed while it is loaded'
store=${plain}_killed
logs=many.cptlog
"$CPT_HELPERS/store_log" 60000 >many.cptlog || fail 'store_log'
kill -9 "$second_pid"
wait "$second_pid" 2>/dev/null
"$CPT" load --retry-for 1 "$store" many.cptlog >loaded 2>said
[ $? = 1 ] || fail 'loading without a shard succeeds'
grep -q "127.0.0.1:$second" said || fail "said $(cat said)"
"$CPT" report "$plain" >said 2>&1
[ $? = 1 ] || fail 'a report without a shard succeeds'
start 1 "$second"
second_pid=$started
wait_up 1 "$second" "$second_pid" || fail 'the shard does not come back'
"$CPT" load --batch 500 "$store" many.cptlog >loaded 2>said &
loader=$!
# when it has a part of the requests
for _ in $(seq 200); do
    rows=$(sql "$second" 'SELECT count() FROM cpt_killed.cpt_requests' 2>/dev/null)
    case $rows in '' | 0 | *[!0-9]*) sleep 0.02 ;; *) break ;; esac
done
kill -9 "$second_pid"
wait "$second_pid" 2>/dev/null
say "killed with $rows rows"
[ "$rows" -lt 29000 ] || fail 'that was too late'
sleep 1
start 1 "$second"
second_pid=$started
wait_up 1 "$second" "$second_pid" || fail 'the shard does not come back'
wait "$loader" || fail "the loader gave up: $(cat said)"
same_tree 'after the kill'
"$CPT" load "$store" many.cptlog >loaded || fail 'load after the kill'
same_tree 'loaded once more'
same_tree 'a term after the kill' -w arm=1

say 'what the database says is checked'
sql "$first" "INSERT INTO cpt_killed.cpt_stacks (id, parent, kind, name)
    SELECT id, parent, kind, 'another' FROM cpt_killed.cpt_stacks LIMIT 1"
"$CPT" report "$store" >said 2>&1
[ $? = 1 ] || fail 'a stack that means two things is taken'
grep -q 'two different things' said || fail "said $(cat said)"
kill -0 "$first_pid" || fail 'the first shard died'
say 'all as expected'
