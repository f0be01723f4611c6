# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# unreliable intervals are marked, missing ones are left out
make_log few >a.cptlog
cpt diff --top 2 a.cptlog --base arm=control --new arm=treatment
cpt diff --top 1 a.cptlog --base items=0 --new items=1
