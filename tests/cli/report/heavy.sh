# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a few of 1,000 requests decide on the mean: it is marked, and so is the row
make_log heavy >a.cptlog
cpt report a.cptlog | head -3
cpt report --json a.cptlog | grep -o '"why":"[^"]*"'
cpt diff a.cptlog a.cptlog | head -3
cpt plan a.cptlog | head -2
cpt precision a.cptlog | head -2
echo 'requests of a keep rule, and two modes, are no heavy tail:'
make_log kept >b.cptlog
cpt report b.cptlog | head -1
