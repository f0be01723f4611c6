# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a tree does not say who held what
make_log contended >contended.cptlog
cpt aggregate -o a.cpttree contended.cptlog
cpt contention a.cpttree
echo "exit $?"
cpt contention
