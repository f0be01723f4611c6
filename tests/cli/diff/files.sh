# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a tree and a log give the same as two selections
make_log experiment >a.cptlog
cpt aggregate -w arm=control -o c.cpttree a.cptlog
cpt aggregate -w arm=treatment -o t.cpttree a.cptlog
cpt diff --json c.cpttree t.cpttree | tail -n +2 >files
cpt diff --json a.cptlog --base arm=control --new arm=treatment | tail -n +2 >selections
cmp files selections && echo same
cpt diff --top 1 c.cpttree t.cpttree
