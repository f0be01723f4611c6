# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a mistyped key is told from a value that is not there
make_log experiment >a.cptlog
cpt report --where amr=control a.cptlog; echo $?
cpt report --where arm=kontrol a.cptlog; echo $?
make_log empty >e.cptlog
cpt report e.cptlog; echo $?
: >zero
cpt report zero
