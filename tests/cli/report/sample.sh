# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a random sample of a given size; equal seeds give equal samples
make_log experiment >a.cptlog
cpt report --sample 10 a.cptlog | head -2
cpt report --sample 10 --seed 1 a.cptlog | head -2
cpt report --sample 10 --seed 2 a.cptlog | head -2
cpt report --seed 7 --where arm=control a.cptlog | head -2
cpt report --sample 500 a.cptlog | head -2
cpt diff a.cptlog --sample 20 --base arm=control --new arm=treatment | head -4
make_log damaged >d.cptlog
cpt report --sample 90 d.cptlog | head -2
cpt aggregate -o a.cpttree --sample 5 --keep-duplicates a.cptlog a.cptlog
cpt report a.cpttree | head -2
cpt report --sample 5 a.cpttree; echo $?
cpt report --sample 0 a.cptlog; echo $?
cpt report --sample many a.cptlog; echo $?
cpt report --seed -1 a.cptlog; echo $?
