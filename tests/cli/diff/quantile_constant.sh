# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# requests that all take equally long have no slow ones, and their quantile is compared all the same
make_log experiment >a.cptlog
cpt log -o one.cptlog --sample 1 --seed 3 a.cptlog 2>none
cpt log -o other.cptlog --where 'latency > p99' a.cptlog
mkdir base new
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    cp one.cptlog base/$i.cptlog
    cp one.cptlog new/$i.cptlog
done
cpt diff --keep-duplicates --quantile p50 base new | tail -n +5; echo $?
cpt diff --keep-duplicates --quantile p50 --json base new | grep -o '"total":null,"row_count":0,"rows":\[[^]]*\]'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    cp other.cptlog new/$i.cptlog
done
cpt diff --keep-duplicates --quantile p50 base new | grep '^the\|^no'
cpt diff --quantile p50 a.cptlog --base arm=control --new arm=treatment | grep 'slow halves\|^the p50'
