# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the same as one object; the seed decides
make_log experiment >a.cptlog
cpt precision --json --requests 20,1000 --above 0.5ms --top 2 a.cptlog
cpt precision --json --requests 20 --above 0.5ms a.cptlog | tail -n +2 >1
cpt precision --json --requests 20 --above 0.5ms a.cptlog --seed 1 | tail -n +2 >2
cpt precision --json --requests 20 --above 0.5ms a.cptlog --seed 2 | tail -n +2 >3
cmp 1 2 && echo same
cmp -s 1 3 || echo others
