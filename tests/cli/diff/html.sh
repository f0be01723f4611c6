# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --html: the page of two selections is that of cpt report; files and views work, too
make_log experiment >a.cptlog
cpt diff --html=one.html --base arm=control --new arm=treatment a.cptlog; echo $?
cpt report --html other.html --base arm=control --new arm=treatment a.cptlog
cmp one.html other.html
cpt diff --html - a.cptlog a.cptlog | grep -c '<title>A: base and new</title>'
cpt diff --html - --by service --base arm=control --new arm=treatment a.cptlog | grep -oE '"by":"[a-z]*"|^[{]"parent":0,"text":"[^"]*"'
# conditions are judged as without a page
cpt diff --html=one.html --fail-if 'name("B: B2") > 1ms' --base arm=control --new arm=treatment a.cptlog; echo $?
cpt diff --html=one.html --top 3 --base arm=control --new arm=treatment a.cptlog; echo $?
