# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# trees in any order give the same bytes
make_log experiment >a.cptlog
cpt aggregate -o c.cpttree -w arm=control a.cptlog
cpt aggregate -o t.cpttree -w arm=treatment a.cptlog
cpt aggregate -o ct.cpttree c.cpttree t.cpttree
cpt aggregate -o tc.cpttree t.cpttree c.cpttree
cmp ct.cpttree tc.cpttree && echo same
cpt report ct.cpttree | head -2
