# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# an index that hides records is found, and a correct one replaces it
make_log indexed >a.cptlog
cpt log --check a.cptlog
make_log indexed_lies >b.cptlog
cpt log --json --where 'has(arm)' b.cptlog | wc -l
cpt log --check b.cptlog; echo $?
cpt log --repair c.cptlog b.cptlog
cpt log --check c.cptlog
cat a.cptlog b.cptlog >d.cptlog
cpt log --check d.cptlog
cpt log --check - <b.cptlog
cat b.cptlog | cpt log --check -
