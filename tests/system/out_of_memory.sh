# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# out_of_memory.sh LIBRARY MAKE_LOG RUNS_MAX - each command of the tool, with one request
# for memory refused in each run: it fails and says so, or its output is whole. See
# fail_each.c. RUNS_MAX runs of each command; more than there are requests: all.
. "$(dirname "$0")/system.sh"
library=$1
make_log=$2
runs=$3
wrong=0

[ -z "${CPT_SANITIZE:-}" ] || { echo 'skipped: sanitizers have their own malloc'; exit 77; }

rm -rf logs spans depot
mkdir logs
"$make_log" experiment >a.cptlog
"$make_log" few >b.cptlog
"$make_log" services >c.cptlog
"$make_log" untraced >u.cptlog
"$make_log" damaged >damaged.cptlog
"$make_log" metadata >value
cp a.cptlog logs/A-20261121T060000Z-4711-000000.cptlog
cp b.cptlog logs/A-20261121T070000Z-4711-000001.cptlog
if "$CPT" log --compress -o z.cptlog a.cptlog 2>/dev/null; then
    compressed=z.cptlog
else
    compressed=a.cptlog
fi
"$CPT" aggregate -e A -o a.cpttree a.cptlog 2>/dev/null
"$CPT" aggregate -e A -o b.cpttree b.cptlog 2>/dev/null

# each FILE ARGUMENTS...: the command `cpt ARGUMENTS`, which writes FILE, or -.
each() {
    file=$1
    shift
    "$CPT_HELPERS/fail_each" "$library" "$runs" "$file" "$CPT" "$@" >each.said 2>&1 || wrong=1
    cat each.said
}

each - help
each - --man report
each - --completion bash
each - metadata "$(cat value)"
each - metadata --json "$(cat value)"

each - log a.cptlog
each - log -w arm=control logs/
each - log --json "$compressed"
each - log --paths b.cptlog
each - log --check a.cptlog "$compressed"
each - log --sample 5 a.cptlog
each out.cptlog log -o out.cptlog --where region=eu a.cptlog c.cptlog
# without memory a block is not compressed, and its log is whole all the same
each - log --compress -o out.cptlog a.cptlog
each out.cptlog log --repair out.cptlog damaged.cptlog
each - show a.cptlog
each - assert 'some span("A: *") and no span("nothing")' a.cptlog
each - assert --json 'at most 9 span("B: *") under span("A: *")' a.cptlog
# spans, if it reads them; the last ones wait for others of their trace
printf '{"data":[{"traceID":"1","processes":{"p":{"serviceName":"A"}},"spans":[' >spans.json
printf '{"spanID":"1","processID":"p","startTime":1000,"duration":100,"tags":[]},' >>spans.json
printf '{"spanID":"2","references":[{"refType":"CHILD_OF","spanID":"1"}],"startTime":1010,"duration":50}]}]}\n' >>spans.json
printf '{"traceId":"2","id":"1","timestamp":1000,"duration":100}\n' >>spans.json
printf '{"traceId":"2","id":"2","parentId":"1","timestamp":1010,"duration":50}\n' >>spans.json
gzip -c spans.json >spans.json.gz
mkdir spans
cp spans.json.gz spans
if "$CPT" import --sections spans.json >import.said 2>&1; then
    each - import --sections spans.json
    each out.cptlog import -o out.cptlog spans
    each out.json import --annotate out.json spans.json.gz
    each out.pftrace import -o out.pftrace spans.json
    each - report spans.json
    printf 'id,service,event,time_us\nr,a,x,1700000000000000\nr,b,y,1700000000000001\n' >lines.csv
    "$CPT" model learn lines.csv >lines.cptmodel
    each out.cptmodel model learn -o out.cptmodel lines.csv
    each out.cptmodel model merge -o out.cptmodel lines.cptmodel lines.cptmodel
    each - model show lines.cptmodel
    each - model curve lines.csv
    each - model diff --json lines.cptmodel lines.csv
elif ! grep -q 'built without simdjson' import.said; then
    wrong=1
    cat import.said
fi

mkdir -p depot
cp a.cptlog c.cptlog depot
each - depot get depot 30313233343536373839616263646566
each - depot list depot
each - show --record 3 "$compressed"
each - show -w region=eu a.cptlog

each out.cpttree aggregate -j 1 -e A -o out.cpttree a.cptlog c.cptlog
each out.cpttree aggregate -j 3 -e A -o out.cpttree logs/ "$compressed"
each out.cpttree merge -o out.cpttree a.cpttree b.cpttree

each - report a.cptlog
each - report logs/
each - report -e A -w region=eu a.cptlog c.cptlog
each - report --json a.cptlog u.cptlog
each - report a.cpttree
each - report --quantiles 50%,90% a.cptlog
each - report --cluster region a.cptlog
each out.html report --html out.html a.cptlog
each out.html report --html out.html logs/ u.cptlog
each out.html report --html out.html a.cpttree
each - diff --base arm=control --new arm=treatment a.cptlog
each - diff --json --mix region --base arm=control --new arm=treatment a.cptlog
each - diff a.cpttree b.cpttree
each - diff --quantile p90 --base arm=control --new arm=treatment a.cptlog
each - diff --cluster region --base arm=control --new arm=treatment a.cptlog
each out.html diff --html out.html --base arm=control --new arm=treatment a.cptlog

each - precision --requests 10,50 a.cptlog
each - plan --within 0.5ms a.cptlog
each out.pb.gz pprof -q -o out.pb.gz a.cptlog
each out.pb.gz pprof -q -o out.pb.gz --label-by region a.cptlog
each - folded a.cptlog
each - folded --max-bytes 500 a.cptlog
each - log --max-bytes 2k a.cptlog
each - report --max-bytes 2k a.cptlog
each - folded a.cpttree

# A store that takes everything. Nothing is tried again: a second try would succeed.
if command -v python3 >/dev/null &&
    ! "$CPT" load clickhouse://127.0.0.1:1/a a.cptlog 2>&1 | grep -q 'without libcurl'; then
    start store python3 "$(dirname "$0")/hostile_store.py" takes
    await store.out '^[0-9]'
    each - load --retry-for 0 "clickhouse://127.0.0.1:$(cat store.out)/cpt" a.cptlog
fi

# Services that are there in each run, and a program that makes a plan.
if command -v python3 >/dev/null && ! "$CPT" wait --help | grep -q 'built without'; then
    rm -f live.port
    start live python3 "$(dirname "$0")/wait_stand_in.py" live.port
    await live.port .
    at=127.0.0.1:$(cat live.port)
    for case in chain circle names; do
        each - wait --prefix "/$case" "$at"
    done
    each - wait --json --prefix /chain "$at"
    each - graph --prefix /plans "$at"
    # shellcheck disable=SC2016
    each - graph -- sh -c 'echo "{\"service\":\"S\",\"tasks\":[{\"name\":\"t\"}]}" >>"$CPT_PLANS"'
    if command -v dot >/dev/null; then # with all of its own memory
        mkdir -p bin
        printf '#!/bin/sh\nexec env -u LD_PRELOAD %s "$@"\n' "$(command -v dot)" >bin/dot
        chmod +x bin/dot
        PATH=$PWD/bin:$PATH
        each - graph --svg --prefix /plans "$at"
    fi
fi

exit $wrong
