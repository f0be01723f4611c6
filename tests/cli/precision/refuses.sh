# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# malformed numbers, and a tree
make_log experiment >a.cptlog
cpt aggregate -o a.cpttree a.cptlog
cpt precision --requests 10,x a.cptlog; echo $?
cpt precision --requests 10ms a.cptlog; echo $?
cpt precision --above 10 a.cptlog; echo $?
cpt precision --above 0ms a.cptlog; echo $?
cpt precision --above 1ms,,2ms a.cptlog; echo $?
cpt precision --pairs 0 a.cptlog; echo $?
cpt precision --pairs 100001 a.cptlog; echo $?
cpt precision --seed -1 a.cptlog; echo $?
cpt precision a.cpttree; echo $?
