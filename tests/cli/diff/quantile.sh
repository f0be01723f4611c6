# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --quantile: whether the tail moved, and what slow requests have that others have not.
# The errors of means, and so q, are those of cpt diff, and left out here.
make_log experiment >a.cptlog
cpt diff --quantile p90 a.cptlog --base arm=control --new arm=treatment >text
tail -n +5 text | head -n 12
tail -n +17 text | sed 's/  *[<01][.0-9]*  */ q /g; s/   *- / /g; s/~//g; s/   */ /g'
cpt diff --quantile 75% --by name --top 2 --format markdown a.cptlog \
    --base arm=control --new arm=treatment | grep '^|' | head -n 6
cpt diff --quantile p50 --by service --json a.cptlog \
    --base arm=control --new arm=treatment >json
grep -o '"border_ns":[0-9]*,"tail_requests":[0-9]*' json
grep -o '"by".*"new_above":[0-9.]*,"trusted":true}' json
sed -n 2p json | tr ',{' '\n\n' | grep -v 'low_ns\|high_ns\|p_value\|"q"\|trusted\|"why"\|or too few'
cpt log -o control.cptlog --where arm=control a.cptlog
cpt log -o treatment.cptlog --where arm=treatment a.cptlog
cpt diff --quantile p90 control.cptlog treatment.cptlog | tail -n +6 >two
cpt diff --quantile p90 a.cptlog --base arm=control --new arm=treatment |
    tail -n +6 | cmp - two && echo "two files: the same"
cpt aggregate -o control.cpttree control.cptlog
for wrong in p0 p100 p99.99999999 0.5 99 '' '%' ppp; do
    cpt diff --quantile "$wrong" control.cptlog treatment.cptlog; echo $?
done
cpt diff --quantile p90 control.cpttree treatment.cptlog; echo $?
cpt diff --quantile p90 --mix arm control.cptlog treatment.cptlog; echo $?
cpt diff --quantile p90 --fail-if 'total > 1%' control.cptlog treatment.cptlog; echo $?
cpt diff --quantile p90 --where 'latency > p50' control.cptlog treatment.cptlog; echo $?
cpt diff --quantile p90 --base arm=control a.cptlog; echo $?
cpt diff --quantile p90 a.cptlog; echo $?
cpt diff --quantile p90 --base arm=x --new arm=control a.cptlog; echo $?
cpt diff --quantile p90 --base trace_id=0 --new arm=control a.cptlog; echo $?
cat control.cptlog | cpt diff --quantile p90 - treatment.cptlog; echo $?
