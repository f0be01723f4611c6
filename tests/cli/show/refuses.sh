# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# errors for what cannot be shown
make_log experiment >a.cptlog
cpt show --record 500 a.cptlog; echo $?
cpt show --where arm=none a.cptlog; echo $?
cpt show --record 0 a.cptlog; echo $?
cpt show --rows many a.cptlog; echo $?
cpt show --trace 1234 a.cptlog; echo $?
cpt aggregate -o a.cpttree a.cptlog
cpt show a.cpttree; echo $?
make_log damaged >d.cptlog
cpt show --record 100 d.cptlog | head -2
cpt show absent.cptlog
