# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# one thread or eight: the same tree, the same messages in the same order
make_log experiment >a.cptlog
make_log damaged >b.cptlog
make_log unsound >c.cptlog
make_log truncated >d.cptlog
make_log few >e.cptlog
set -- e.cptlog d.cptlog c.cptlog b.cptlog a.cptlog e.cptlog e.cptlog
cpt aggregate -j 1 -o one.cpttree "$@" 2>one.said; echo $?
cpt aggregate -j 8 -o eight.cpttree "$@" 2>eight.said; echo $?
cpt aggregate -o all.cpttree "$@" 2>all.said; echo $?
cmp one.cpttree eight.cpttree && cmp one.cpttree all.cpttree && echo same
cmp one.said eight.said && cmp one.said all.said && echo same
cat one.said
# an unusable file ends it, and later files are not mentioned
cpt aggregate -j 4 -o x.cpttree a.cptlog missing c.cptlog e.cptlog; echo $?
cpt aggregate -j 0 -o x.cpttree a.cptlog; echo $?
cpt aggregate -j 257 -o x.cpttree a.cptlog; echo $?
cpt aggregate -j 256 -o x.cpttree a.cptlog; echo $?
cpt aggregate -j -1 -o x.cpttree a.cptlog; echo $?
