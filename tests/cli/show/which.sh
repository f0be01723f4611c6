# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the first selected, the slowest, one by its number, one by its trace, over all files
make_log experiment >a.cptlog
make_log services >b.cptlog
cpt show a.cptlog | head -3
cpt show --slowest a.cptlog | head -4
cpt show --slowest --where arm=control a.cptlog | head -4
cpt show --record 121 a.cptlog b.cptlog | head -2
cpt show --trace 30313233343536373839616263646566 b.cptlog a.cptlog | head -2
cpt show --entry B - <b.cptlog
