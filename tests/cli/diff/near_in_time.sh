# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# requests that resemble those before them: a hint to --cluster, none with it, and none for others
make_log minutes >a.cptlog
make_log experiment >b.cptlog
cpt report a.cptlog | head -1
cpt report --cluster minute a.cptlog | head -1
cpt diff a.cptlog --base arm=control --new arm=treatment >out
cpt diff --quantile p90 a.cptlog --base arm=control --new arm=treatment >out
cpt diff --cluster minute a.cptlog --base arm=control --new arm=treatment >out
cpt report b.cptlog >out
