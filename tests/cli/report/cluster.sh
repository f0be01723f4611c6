# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --cluster: errors by the values of a key; too few of them; no such key; a tree
make_log experiment >a.cptlog
cpt report --cluster ratio a.cptlog | head -n 4
cpt report --cluster minute a.cptlog | head -n 3
cpt report --cluster ratio --quantiles 50%,99% a.cptlog | tail -n 4
cpt report --cluster region --quantiles 50% --json a.cptlog | grep -o '"latency_q[^]]*]'
cpt report --cluster region --json a.cptlog | grep -o '"cluster":{[^}]*}'
cpt report --cluster region --json a.cptlog | sed -n 3p
cpt report --cluster user a.cptlog; echo $?
make_log hostile >h.cptlog
cpt report --cluster "$(printf 'k\033[31m')" h.cptlog; echo $?
cpt aggregate -o a.cpttree a.cptlog
cpt report --cluster region a.cpttree; echo $?
