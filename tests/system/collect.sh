# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# collect.sh - cpt collect, with clients that send spans as services do: that its records
# are those of cpt import, what it answers, what is late and what is left out, and how it
# ends.
. "$(dirname "$0")/system.sh"
need curl python3
client="$(dirname "$0")/collect_client.py"

# collect NAME ARGUMENTS...: starts a collector on any port; $port is its port.
collect()
{
    name=$1
    shift
    start "$name" "$CPT" collect -o "$name" --port 0 --priority normal "$@"
    await "$name.out" 'Ctrl-C ends it'
    port=$(sed -n 's|.*http://127.0.0.1:\([0-9]*\)/v1/traces.*|\1|p' "$name.out")
    [ -n "$port" ] || fail "no port in $(cat "$name.out")"
}

# stop NAME: ends the collector that was started last, which must end well.
stop()
{
    kill -TERM "$pid"
    wait "$pid" || fail "$1 ended with $?: $(cat "$1.err")"
}

# records LOG...: its records without the order in which they were written.
records()
{
    "$CPT" log --json "$@" | sort
}

rm -rf one two late few many many2 gone hang ./*.json ./*.cptlog ./*.records

say 'its records are those of cpt import, whatever the order and the encoding'
python3 "$client" spans 150 1 one.json
"$CPT" import -o one.cptlog one.json
collect one --quiet 4s
python3 "$client" send "$port" one.json 1
python3 "$client" metric "$port" traces_total 150
curl -s --max-time 20 "http://127.0.0.1:$port/metrics" >metrics
grep -q '^cpt_collect_held_bytes 0$' metrics || fail "held: $(grep held metrics)"
grep -q '^cpt_collect_share 1.000000$' metrics || fail "share: $(grep share metrics)"
tries=100
until records one >one.records && [ "$(wc -l <one.records)" = 150 ]; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "only $(wc -l <one.records) records can be read"
    sleep 0.1
done
records one.cptlog >import.records
cmp import.records one.records || fail 'the records differ'
"$CPT" report one >/dev/null

say 'how old they are: the spans are of long ago'
[ "$(sed -n 's/^cpt_collect_record_age_seconds_bucket{le="900"} //p' metrics)" = 0 ] &&
    grep -q '^cpt_collect_record_age_seconds_bucket{le="+Inf"} 150$' metrics &&
    grep -q '^cpt_collect_record_age_seconds_count 150$' metrics ||
    fail "ages: $(grep age metrics)"

say 'what it answers'
python3 "$client" answers "$port"
curl -s -f --max-time 20 -H 'Content-Type: application/json' -d @one.json \
    "http://127.0.0.1:$port/v1/traces" | grep -qx '{}' || fail 'curl'

say 'spans that come after their trace are left out and counted'
before=$(python3 "$client" metric "$port" late_spans_total)
python3 "$client" late "$port"
after=$(python3 "$client" metric "$port" late_spans_total)
[ "$after" = $((before + 2)) ] || fail "$before, then $after late spans"

say 'hostile bytes'
python3 "$client" hostile "$port" 1
curl -s -f --max-time 20 "http://127.0.0.1:$port/healthz" >/dev/null || fail 'not healthy'
python3 "$client" metric "$port" large_traces_total | grep -qx '[0-9]*' || fail 'large'
stop one
"$CPT" log --check one >/dev/null || fail 'the log'

say 'it ends with what it holds, and continues in the same folder'
rm -rf one
python3 "$client" spans 40 2 two.json
python3 "$client" spans 40 3 three.json
collect one
python3 "$client" send "$port" two.json 2
stop one
collect one
python3 "$client" send "$port" three.json 3
kill -INT "$pid"
wait "$pid" || fail "INT: $(cat one.err)"
"$CPT" import -o both.cptlog two.json three.json
records both.cptlog >both.records
records one >one.records
cmp both.records one.records || fail 'the records of two runs differ'

say 'two collectors without memory leave out the same traces, whole'
python3 "$client" spans 1200 4 many.json
"$CPT" import -o many.cptlog many.json
records many.cptlog | sed 's/"probability":[^,]*,//' | sort >all.records
for name in many many2; do
    collect $name --memory 2
    python3 "$client" in_order "$port" many.json
    python3 "$client" metric "$port" shed_traces_total >$name.shed
    stop $name
    records $name >$name.records
    sed 's/"probability":[^,]*,//' $name.records | sort >$name.bare
    [ "$(comm -23 $name.bare all.records | wc -l)" = 0 ] || fail "$name: parts of traces"
    [ $(($(wc -l <$name.records) + $(cat $name.shed))) = 1200 ] ||
        fail "$(wc -l <$name.records) records, $(cat $name.shed) shed"
done
[ "$(cat many.shed)" -gt 100 ] || fail "only $(cat many.shed) are shed"
cmp many.records many2.records || fail 'they keep other traces'
grep -q '"probability":0\.' many.records || fail "no probability: $(head -1 many.records)"

say 'a share of half of them is kept'
collect few --share 50%
python3 "$client" in_order "$port" many.json
stop few
kept=$(records few | wc -l)
[ "$kept" -gt 500 ] && [ "$kept" -lt 700 ] || fail "$kept of 1200"
[ "$(records few | grep -c '"probability":0.5,')" = "$kept" ] || fail 'probability'

say 'it hangs up a log, and refuses spans while none can be written'
collect hang --quiet 3s
python3 "$client" send "$port" two.json 5
python3 "$client" metric "$port" records_total 40
python3 "$client" metric "$port" held_traces 0
kill -HUP "$pid"
python3 "$client" send "$port" three.json 5
python3 "$client" metric "$port" records_total 80
python3 "$client" metric "$port" log_files_total 2
cp -r hang gone
rm -rf hang
python3 "$client" spans 5 6 four.json
python3 "$client" send "$port" four.json 6
tries=200
while :; do
    status=$(curl -s --max-time 20 -D head -o body -w '%{http_code}' \
        -H 'Content-Type: application/json' -d '{}' "http://127.0.0.1:$port/v1/traces")
    [ "$status" = 503 ] && break
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "$status, though there is no folder"
    sleep 0.1
done
grep -qi '^Retry-After: 5' head || fail "no Retry-After: $(cat head)"
mkdir hang
tries=200
until curl -s -f --max-time 20 "http://127.0.0.1:$port/readyz" >/dev/null; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail 'it is not ready again'
    sleep 0.1
done
stop hang
[ "$(records gone hang | wc -l)" = 85 ] || fail "$(records gone hang | wc -l) records"

say 'what is lost when the log cannot be written until the end is told'
if command -v prlimit >/dev/null 2>&1; then
    rm -rf full
    collect full --quiet 3s
    python3 "$client" send "$port" two.json 7
    python3 "$client" metric "$port" written_records_total 40
    prlimit --fsize=1500 --pid "$pid"
    curl -s -f --max-time 20 -H 'Content-Type: application/json' -d @three.json \
        "http://127.0.0.1:$port/v1/traces" | grep -qx '{}' || fail 'three.json'
    kill -TERM "$pid"
    wait "$pid" && fail 'it ended well'
    grep -q '^cpt: 80 traces of [0-9]* spans; 40 records written$' full.err &&
        grep -q '^cpt: 40 traces are lost, as the log could not be written$' full.err ||
        fail "$(cat full.err)"
    [ "$(records full | wc -l)" = 40 ] || fail "$(records full | wc -l) records"

    say 'also if it was noticed before, and some traces had not ended'
    rm -rf full
    collect full --quiet 1s
    prlimit --fsize=1500 --pid "$pid"
    for name in two three; do
        curl -s -f --max-time 20 -H 'Content-Type: application/json' -d @$name.json \
            "http://127.0.0.1:$port/v1/traces" >/dev/null || fail "$name.json"
        [ $name = three ] || python3 "$client" metric "$port" failed_writes_total 0
    done
    await full.err 'the log cannot be written'
    kill -TERM "$pid"
    wait "$pid" && fail 'it ended well'
    grep -q '^cpt: 80 traces of [0-9]* spans; 0 records written$' full.err &&
        grep -q '^cpt: 80 traces are lost' full.err || fail "$(cat full.err)"
fi
