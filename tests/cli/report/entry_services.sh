# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# several are listed, one is chosen; inner services' own records need an option
make_log services >a.cptlog
cpt report a.cptlog | head -2
cpt report --where 'local_root in (true, false)' a.cptlog; echo $?
cpt report --where service=B a.cptlog; echo $?
cpt report --where local_root=true a.cptlog | head -2
cpt report --entry A a.cptlog | head -2
cpt report --entry B a.cptlog | head -2
cpt report --entry Z a.cptlog; echo $?
cpt aggregate --entry A -o a.cpttree a.cptlog
cpt aggregate --entry B -o b.cpttree a.cptlog
cpt report a.cpttree b.cpttree; echo $?
cpt report --entry B a.cpttree
