# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a folder stands for the trees in it, not for its logs
mkdir -p trees/more logs
make_log experiment >logs/a.cptlog
cpt aggregate --where arm=control -o trees/control.cpttree logs/
cpt aggregate --where arm=treatment -o trees/more/treatment.cpttree logs/a.cptlog
cpt merge -o whole.cpttree trees/ && cpt report whole.cpttree | head -1
cp logs/a.cptlog trees/
cpt merge -o again.cpttree trees && cmp whole.cpttree again.cpttree && echo same
cpt merge -o none.cpttree logs/; echo $?
cpt report trees/more; echo $?
cpt merge -o gone.cpttree trees/gone; echo $?
