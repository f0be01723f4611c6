# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the JSON of each command is as docs/schemas/ says. CPT_SCHEMA=--complete also names the
# fields that no schema has.
if ! command -v python3 >/dev/null; then
    echo "skipped: there is no python3"
    exit 77
fi
tests=$(cd "$(dirname "$0")/.." && pwd)
is()
{
    python3 "$tests/json_schema.py" ${CPT_SCHEMA:-} "$tests/../../docs/schemas/$1.json"
}
two='--base arm=control --new arm=treatment'
for log in experiment few hostile turned markup traced; do
    make_log $log >$log.cptlog
    cpt report --json $log.cptlog | is report
    cpt report --json --by name --quantiles 50% $log.cptlog | is report
    cpt report --json --quantiles 50%,99.9%,100% --max-bytes 4k $log.cptlog | is report
    cpt precision --json --by name --pairs 2 --requests 10 $log.cptlog | is precision
    cpt log --json $log.cptlog | is log
    cpt diff --json $log.cptlog experiment.cptlog 2>none | is diff
    cpt diff --json --by edge $log.cptlog experiment.cptlog 2>none | is diff
done
make_log services >services.cptlog
cpt natural --json --when arm=treatment experiment.cptlog | is natural
cpt predict --json --key region --threshold 20ms experiment.cptlog | is predict
cpt log --json services.cptlog | is log
cpt report --json --keep-duplicates --include-forced --where 'latency > p50' experiment.cptlog experiment.cptlog | is report
cpt diff --json $two --mix region --fail-if 'total > +3%' --fail-if 'name("none") > 1ms' experiment.cptlog 2>none | is diff
cpt diff --json $two --max-bytes 4k experiment.cptlog | is diff
cpt diff --json $two --by service --max-q 0.01 experiment.cptlog | is diff
cpt report --json --by edge --cluster minute --max-bytes 4k experiment.cptlog | is report
cpt report --json --group-by region experiment.cptlog | is report_group
cpt report --json --blind-spots experiment.cptlog | is report_blind_spots
make_log drags >drags.cptlog
cpt report --json drags.cptlog | is report
cpt report --json --by service drags.cptlog | is report
cpt report --json --drag drags.cptlog | is report_drag
cpt report --json --drag --max-bytes 2k drags.cptlog | is report_drag
make_log contended >contended.cptlog
cpt contention --json contended.cptlog | is contention
cpt contention --json --requests contended.cptlog | is contention
make_log contended_ids >ids.cptlog
cpt contention --json --by tenant ids.cptlog | is contention
cpt contention --json --max-bytes 2000 contended.cptlog | is contention
cpt plan --json experiment.cptlog | is plan
cpt plan --json --within 1% --share 1% --probability 0.001 --rate 2000 experiment.cptlog | is plan
make_log metadata | cpt metadata --json | is metadata
make_log metadata | cpt metadata --json --max-bytes 700 | is metadata
cpt-conformance --cases 1 --json cat | is metadata_conformance
cpt-conformance --cases 1 --json false | is metadata_conformance
cpt assert --json --top 1 'no span("B: *") and some span("x")' experiment.cptlog | is assert
cpt precision --json --pairs 2 --requests 10 --max-bytes 2k experiment.cptlog | is precision
cpt diff --json $two --quantile 90% --max-bytes 4k experiment.cptlog | is diff_quantile
cpt diff --json $two --quantile 90% --cluster minute --fail-if 'quantile > 1ms' experiment.cptlog 2>none | is diff_quantile
cpt log --json --max-bytes 4k experiment.cptlog | grep -v '^{"rest"' | is log
cpt log --json --max-bytes 4k experiment.cptlog | tail -1 | is log_rest
cpt aggregate --where arm=control -o control.cpttree experiment.cptlog
cpt report --json control.cpttree experiment.cptlog 2>none | is report
for file in experiment.cptlog services.cptlog hostile.cptlog control.cpttree .; do
    cpt ./$file --json 2>none | is file
done
{
    echo id,service,unit,event,time_us
    for i in 1 2 3 4 5 6 7 8 9; do
        at=170000000${i}00000
        printf 'r%d,web,w,GET,%s\nr%d,a,a,x,%s\nr%d,a,a,y,%s\nr%d,b,b,z,%s\n' \
            $i ${at}1 $i ${at}3 $i ${at}5 $i $at$((i / 5 * 3 + 4))
        echo r$i,web,w,SENT,${at}9
    done
} >lines.csv
sed 's/,y,/,q,/' lines.csv >changed.csv
if cpt model learn lines.csv >lines.cptmodel 2>said; then
    cpt model diff --json lines.cptmodel changed.csv 2>none | is model_diff
    cpt model diff --json --max-bytes 2k lines.cptmodel changed.csv 2>none | is model_diff
    cpt culprit --json lines.csv changed.csv 2>none | is culprit
    cpt model show --json lines.cptmodel | is model_show
    cpt model show --json --max-bytes 2k lines.cptmodel | is model_show
    cpt model curve --json lines.csv | is model_curve
else
    grep -q 'built without simdjson' said || cat said
fi
# the checker notices what is wrong
echo '{"version":-1,"bytes":"2","sum_ns":true,"server_elapsed_ns":null}' | is metadata
