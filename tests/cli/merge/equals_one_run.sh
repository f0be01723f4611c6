# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# merged parts, in any grouping, equal one run over all logs; a tree knows no copies
make_log experiment >a.cptlog
make_log few >b.cptlog
make_log services >c.cptlog
cpt aggregate --keep-duplicates -e A -o whole.cpttree a.cptlog b.cptlog c.cptlog
for log in a b c; do
    cpt aggregate --keep-duplicates -e A -o $log.cpttree $log.cptlog
done
cpt merge -o left.cpttree a.cpttree b.cpttree
cpt merge -o left.cpttree left.cpttree c.cpttree
cpt merge -o right.cpttree c.cpttree b.cpttree
cpt merge -o right.cpttree a.cpttree right.cpttree
cmp whole.cpttree left.cpttree && cmp whole.cpttree right.cpttree && echo same
cpt merge -o - a.cpttree b.cpttree c.cpttree | cmp - whole.cpttree && echo same
cpt merge -o one.cpttree a.cpttree && cmp one.cpttree a.cpttree && echo same
