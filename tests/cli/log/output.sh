# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the selected records as a log, unchanged
make_log experiment >a.cptlog
cpt log --where arm=control -o control.cptlog a.cptlog
cpt log --json --where arm=control a.cptlog >wanted
cpt log --json control.cptlog | cmp - wanted && echo same
cpt log --check control.cptlog
cpt log -o - a.cptlog | cpt log --check -
cpt log -o x.cptlog -j a.cptlog; echo $?
cpt log -o x.cptlog missing.cptlog; echo $?
test -e x.cptlog || echo none
