# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# both sets with the mix of the base; values in only one set; no common value
make_log experiment >a.cptlog
cpt diff a.cptlog --base 'arm == "control"' --new 'arm == "treatment" and region == "eu"' \
    --mix region --top 2
cpt diff a.cptlog --base arm=control --new arm=treatment --mix region --by service --top 1 \
    --fail-if 'service("B") > 3ms' | tail -n 3
cpt diff a.cptlog --base arm=control --new arm=treatment --mix region --json |
    grep -o '"mix":[^]]*]'
cpt diff a.cptlog --base arm=control --new arm=treatment --mix nothing; echo $?
cpt diff a.cptlog --base arm=control --new arm=treatment --mix regoin; echo $?
cpt diff a.cptlog --base arm=control --new arm=treatment --mix arm; echo $?
cpt diff a.cptlog --base arm=control --new arm=treatment --mix ratio; echo $?
cpt aggregate -o a.cpttree a.cptlog
cpt diff a.cpttree a.cpttree --mix arm
