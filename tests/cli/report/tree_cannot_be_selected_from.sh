# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a tree has no single requests
make_log few >a.cptlog
cpt aggregate -o a.cpttree a.cptlog
cpt report --where arm=control a.cpttree; echo $?
cpt report --since 15m a.cpttree; echo $?
cpt report --entry A a.cpttree | head -1
