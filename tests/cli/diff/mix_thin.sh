# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# values with few requests are pooled: one of 4 against 1 does not hide a change
make_log pages >a.cptlog
cpt diff a.cptlog --base arm=control --new arm=treatment --mix page --top 1
cpt diff a.cptlog --base arm=control --new arm=treatment --mix page --by service --top 1 |
    tail -n 3
cpt diff a.cptlog --base arm=control --new arm=treatment --mix page --json |
    grep -o '"mix":[^]]*]'
# a single one has nothing to be pooled with: it is left out
cpt diff a.cptlog --where 'page in ("page0", "page1", "thin")' --base arm=control --new arm=treatment \
    --mix page --top 1 | sed 1,4d
