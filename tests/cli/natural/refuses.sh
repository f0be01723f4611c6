# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what cannot be compared
make_log natural >a.cptlog
cpt natural a.cptlog; echo $?
cpt natural a.cptlog --when 'latency > p95'; echo $?
cpt natural a.cptlog --when 'cache =='; echo $?
cpt natural a.cptlog --when cahce=hit; echo $?
cpt natural a.cptlog --when 'latency > 0ms'; echo $?
cpt natural a.cptlog --when cache=hit --equal regoin; echo $?
cpt natural a.cptlog --when cache=hit --size sise; echo $?
cpt natural a.cptlog --when cache=hit --equal ,; echo $?
cpt natural a.cptlog --when cache=hit --equal a,b,c,d,e,f,g,h,i; echo $?
cpt natural a.cptlog --when cache=hit --where cache=none; echo $?
cpt aggregate -o a.cpttree a.cptlog
cpt natural a.cpttree --when cache=hit; echo $?
