# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# several logs become one, in the order of time, with each record once
make_log experiment >all.cptlog
cpt log -o a.cptlog --where arm=control all.cptlog
cpt log -o b.cptlog --where arm=treatment --until 2026-11-21T06:01:00Z all.cptlog
cpt log -o c.cptlog --where arm=treatment --since 2026-11-21T06:01:00Z all.cptlog
make_log empty >d.cptlog
cpt log -o merged.cptlog c.cptlog a.cptlog d.cptlog b.cptlog
cpt log --json all.cptlog >wanted
cpt log --json merged.cptlog | cmp - wanted && wc -l <wanted
cpt log -o twice.cptlog all.cptlog all.cptlog
cpt log --json twice.cptlog | uniq -c | awk '{ print $1 }' | sort | uniq -c | awk '{ print $1, $2 }'
make_log damaged >e.cptlog
cpt log -o f.cptlog e.cptlog a.cptlog missing.cptlog; echo $?
cpt log --json f.cptlog | wc -l
cpt log --repair g.cptlog e.cptlog a.cptlog; echo $?
cmp f.cptlog g.cptlog && echo same
cpt log -o h.cptlog --stop-at-error a.cptlog e.cptlog; echo $?
test -e h.cptlog || echo none
