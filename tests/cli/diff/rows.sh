# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# only rows that are significant or large are shown; a planted one is the first by q
make_log planted >a.cptlog
sets='--base arm=control --new arm=treatment'
cpt diff a.cptlog $sets | sed 1,5d
cpt diff a.cptlog $sets --sort q --top 1 | sed 1,5d
cpt diff a.cptlog $sets --max-q 1 --sort size | tail -n 2
cpt diff a.cptlog $sets --json --sort q --top 1 | tail -n 2 | cut -d, -f 1-5
cpt diff a.cptlog $sets --json | grep -c '^{"stack"'
cpt diff a.cptlog $sets --min 1us | tail -n 3
cpt diff a.cptlog $sets --max-q 0.5 --min 1us --sort name | tail -n 1
make_log few >b.cptlog
cpt diff b.cptlog $sets --max-q 1 --sort name | sed 1,5d
for wrong in '--max-q 2' '--max-q 0' '--max-q x' '--min 5' '--min 1ms,2ms' '--sort time'; do
    cpt diff b.cptlog $sets $wrong
    echo $?
done
