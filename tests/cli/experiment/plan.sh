# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# how long an experiment must last, from any log; and logs without one
make_log experiment >a.cptlog
cpt experiment --plan a.cptlog
cpt experiment --plan --delta 2ms --within 0.2 --frames 4 --rate 100 --probability 0.1 a.cptlog
cpt experiment --plan --json --rate 100 a.cptlog
for wrong in 'delta 5' 'within 5ms' 'probability 2' 'frames x'; do
    cpt experiment --plan --${wrong% *} ${wrong#* } a.cptlog; echo $?
done
cpt experiment a.cptlog; echo $?
cpt experiment --graphs none.json a.cptlog; echo $?
