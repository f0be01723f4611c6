# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a hit saves what D takes; large requests hit less often, which --size none does not see
make_log natural >a.cptlog
cpt natural a.cptlog --when 'cache == "hit"'
cpt natural a.cptlog --when cache=hit --size none --by service | tail -n 8 | head -n 3
cpt natural a.cptlog --when cache=hit --equal region --by edge --top 1 | sed -n '1p;3,7p'
# of one region there is no difference; the size of the path splits, or leaves too little
cpt natural a.cptlog --when region=us --by name
cpt natural a.cptlog --when cache=hit --where 'size < 4' --size path | sed -n '1p;4,5p'
make_log pages >b.cptlog
cpt natural b.cptlog --when page=page0 --by service | head -n 9
make_log experiment >c.cptlog
cpt natural c.cptlog --when 'path("C: C1") > 1ms' --by service | head -n 5
cpt natural c.cptlog --when 'path("C: C1") > 1ms' --size path --by service | head -n 5
# too few
make_log few >d.cptlog
cpt natural d.cptlog --when arm=treatment
cpt natural d.cptlog --when arm=treatment --equal arm
