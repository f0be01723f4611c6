# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --allow-empty: a part without a request is a tree, too
make_log experiment >a.cptlog
make_log services >b.cptlog
cpt aggregate -w region=eu -o a.cpttree a.cptlog
cpt aggregate -w region=eu -o b.cpttree b.cptlog; echo $?
cpt aggregate -w region=eu --allow-empty -o b.cpttree b.cptlog; echo $?
cpt aggregate -w region=eu -o whole.cpttree a.cptlog b.cptlog
cpt merge -o both.cpttree a.cpttree b.cpttree && cmp both.cpttree whole.cpttree && echo same
