# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a page that cannot be made leaves the old file
make_log experiment >a.cptlog
echo before >page.html
cpt report --html page.html --base arm=control a.cptlog; echo $?
cpt report --base arm=control --new arm=treatment a.cptlog; echo $?
cpt report --html page.html --base arm=none --new arm=control a.cptlog; echo $?
cpt report --html page.html absent.cptlog; echo $?
cpt report --html absent/page.html a.cptlog; echo $?
cat page.html
make_log damaged >d.cptlog
cpt report --html page.html d.cptlog; echo $?
grep -c 'Loading\|<title>' page.html
