# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# undamaged records are kept; the damage is reported, but is not a failure
make_log damaged >a.cptlog
cpt log --repair b.cptlog a.cptlog; echo $?
cpt log --check b.cptlog; echo $?
cpt log --json a.cptlog 2>/dev/null >wanted
cpt log --json b.cptlog | cmp - wanted && echo same
cpt log --output c.cptlog a.cptlog 2>/dev/null; echo $?
cmp b.cptlog c.cptlog && echo same
cpt log --repair d.cptlog --stop-at-error a.cptlog 2>/dev/null; echo $?
test -e d.cptlog || echo none
make_log truncated | cpt log --repair e.cptlog -; echo $?
echo 'hello, I am a file of text and no log at all, and long enough' >a.txt
cpt log --repair e.cptlog a.txt; echo $?
cpt log --repair f.cptlog --since 1h a.cptlog
