# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what it cannot compare
make_log experiment >a.cptlog
cpt culprit a.cptlog
cpt culprit --base arm=control a.cptlog
cpt culprit a.cptlog a.cptlog a.cptlog
cpt culprit --by stack a.cptlog a.cptlog
cpt culprit --where arm=none a.cptlog a.cptlog
cpt culprit a.cptlog missing.cptlog
cpt culprit --cluster reqion a.cptlog a.cptlog
make_log damaged >damaged.cptlog
cpt culprit damaged.cptlog a.cptlog | head -1
cpt culprit --stop-at-error damaged.cptlog a.cptlog
