# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a log must be aggregated first, requests of two services are not mixed, and the old file stays
make_log services >a.cptlog
cpt aggregate -e A -o a.cpttree a.cptlog
cpt aggregate -e B -o b.cpttree a.cptlog
echo old >o.cpttree
cpt merge -o o.cpttree a.cpttree a.cptlog; echo $?
cpt merge -o o.cpttree a.cpttree b.cpttree; echo $?
cpt merge -o o.cpttree a.cpttree missing; echo $?
head -c 100 a.cpttree >cut.cpttree
cpt merge -o o.cpttree a.cpttree cut.cpttree; echo $?
cat o.cpttree
