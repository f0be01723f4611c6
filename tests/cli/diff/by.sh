# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# rows are services, names, edges; a tree does not know them
make_log experiment >a.cptlog
for by in service name edge; do
    cpt diff --by $by a.cptlog --base arm=control --new arm=treatment | tail -n +6
done
cpt diff --json --by edge --top 1 a.cptlog --base arm=control --new arm=treatment | sed -n 2p
cpt aggregate -w arm=control -o c.cpttree a.cptlog
cpt diff --by name c.cpttree a.cptlog
