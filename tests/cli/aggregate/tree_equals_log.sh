# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a report of the tree equals that of the log
make_log experiment >a.cptlog
cpt aggregate -o a.cpttree a.cptlog && cpt report --json a.cptlog >log.json
cpt report --json a.cpttree >tree.json
cmp log.json tree.json && echo same
ls
