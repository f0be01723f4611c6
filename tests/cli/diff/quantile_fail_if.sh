# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --quantile: whether its change is to be trusted, and conditions on it
make_log experiment >a.cptlog
both='--base arm=control --new arm=treatment'
json()
{
    cpt diff $both --json "$@" a.cptlog 2>none >json
    echo "exit status $?"
    sed 's/.*"new_above"/"new_above"/' json | grep -o '^"new_above"[^}]*}'
    tail -n 1 json | grep -o '"conditions":.*'
}
echo by request, and by few clusters
json --quantile p50
json --quantile p50 --cluster minute
cpt diff $both --quantile p50 --cluster minute a.cptlog | tail -n 7
echo conditions
json --quantile p50 --fail-if 'quantile > +1ms'
json --quantile p50 --fail-if 'quantile > +50%' --fail-if 'quantile < -1ms'
json --quantile p50 --cluster minute --fail-if 'quantile > +1ms'
json --quantile p99 --fail-if 'quantile > +1ms'
echo what is said
for cluster in ratio minute; do
    cpt diff $both --quantile p50 --cluster $cluster --fail-if 'quantile > 1ms' a.cptlog >text; echo $?
done
cpt diff $both --quantile p50 --fail-if 'quantile > 1ms at q<0.000001' a.cptlog >text; echo $?
cpt diff $both --quantile p50 --fail-if 'total > 1ms' a.cptlog; echo $?
cpt diff $both --fail-if 'quantile > 1ms' a.cptlog; echo $?
cpt diff $both --mix region --cluster ratio a.cptlog; echo $?
