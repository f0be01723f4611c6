# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# culprits by an attribute of their request, which need not be selected
make_log contended_ids >a.cptlog
cpt contention --by tenant a.cptlog | head -10
cpt contention --by tenant --json a.cptlog >a.json
sed -n '/"groups"/,/^]/p' a.json
cpt contention --by tenant --where 'latency > 11.5ms' a.cptlog | sed -n 5,9p
cpt contention --by status a.cptlog | sed -n 5,9p
# the requests of the culprits are in another log, or in none
make_log contended >b.cptlog
cpt contention --by tenant a.cptlog b.cptlog | sed -n 5,11p
cpt contention --by status b.cptlog | sed -n 5,9p
cpt contention --by tenant --max-bytes 1500 --json a.cptlog | grep -o '"rest".*'
# wrong keys, and what cannot be read twice
cpt contention --by tenat a.cptlog; echo $?
cpt contention --by tenant b.cptlog; echo $?
cpt contention --by tenant - <a.cptlog; echo $?
