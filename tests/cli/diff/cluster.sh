# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --cluster: errors by the values of a key, in all rows and in conditions
make_log experiment >a.cptlog
cpt diff --cluster ratio a.cptlog --base arm=control --new arm=treatment --top 2 >text
head -n 6 text
cpt diff --cluster minute a.cptlog --base arm=control --new arm=treatment >text
head -n 6 text
grep '^~' text
cpt diff --cluster minute --by name --json a.cptlog --base arm=control \
    --new arm=treatment >json
grep -o '"cluster":{[^}]*}' json
grep -o '"trusted":[a-z]*,"why":"[^"]*"' json | sort | uniq -c
cpt diff --cluster ratio a.cptlog --base arm=control --new arm=treatment --top 1 \
    --fail-if 'service("B") > 1ms' --fail-if 'total > 1ms' >fails 2>said; echo $?
cut -d: -f 1-3 said
cpt diff --cluster minute a.cptlog --base arm=control --new arm=treatment --top 1 \
    --fail-if 'service("B") > 1ms' --fail-if 'total > 1ms' >fails_not 2>said; echo $?
cut -d: -f 1-3 said
cpt diff --cluster nothing a.cptlog --base arm=control --new arm=treatment; echo $?
cpt diff --cluster ratio --mix region a.cptlog --base arm=control --new arm=treatment
echo $?
cpt diff --cluster ratio --quantile p90 a.cptlog --base arm=control --new arm=treatment
echo $?
cpt aggregate -o a.cpttree a.cptlog
cpt diff --cluster ratio a.cpttree a.cptlog; echo $?
