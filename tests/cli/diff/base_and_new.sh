# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# both or none; each must have requests
make_log experiment >a.cptlog
cpt diff a.cptlog --base arm=control; echo $?
cpt diff a.cptlog --base arm=control --new arm=other; echo $?
cpt diff a.cptlog --base arm=control --new arm; echo $?
cpt aggregate -o a.cpttree a.cptlog
cpt diff a.cpttree --base arm=control --new arm=treatment
