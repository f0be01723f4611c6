# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a mistyped key and a missing value give different messages; few requests have no p99 to exceed
make_log experiment >a.cptlog
cpt report --where amr=control a.cptlog; echo $?
cpt report --where arm=kontrol a.cptlog; echo $?
cpt report --where 'arm == "control" and latency > p99' a.cptlog; echo $?
cpt report --where 'arm == "kontrol" and latency > p99' a.cptlog; echo $?
make_log empty >e.cptlog
cpt report e.cptlog; echo $?
: >zero
cpt report zero
