# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# two sets that differ in more than one term
make_log experiment >a.cptlog
cpt diff --top 1 a.cptlog --base arm=control,region=eu --new arm=treatment,region=us >out
cpt diff --top 1 a.cptlog --base arm=control,region=eu --new arm=treatment,region=eu >out
cpt diff --top 1 a.cptlog --base arm=control --new arm=treatment,region=us >out
cpt aggregate -w arm=control -w region=eu -o c.cpttree a.cptlog
cpt diff c.cpttree a.cptlog >out
cpt diff --top 1 a.cptlog --base 'arm=="control" and region=="eu"' --new 'arm=="treatment" and region=="us"' >out
cpt diff --top 1 a.cptlog --base 'arm=="control" and region=="eu"' --new 'arm=="treatment" and region=="eu"' >out
# blanks do not matter, except within quotes
cpt diff --top 1 a.cptlog --base 'arm=="control" and items in (1,2)' --new 'arm == "treatment" and items in ( 1, 2 )' >out
cpt diff --top 1 a.cptlog --base 'arm != "con trol" and items < 2' --new 'arm != "control" and items >= 2' >out
