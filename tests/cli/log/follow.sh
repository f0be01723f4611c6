# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# prints new records until the writer has finished the log; each record once
make_log indexed >all.cptlog
bytes=$(wc -c <all.cptlog)
head -c 5000 all.cptlog >a.cptlog
cpt log --json --follow a.cptlog >lines &
pid=$!
sleep 0.6
wc -l <lines
tail -c +5001 all.cptlog | head -c 4000 >>a.cptlog
sleep 0.6
wc -l <lines
tail -c +9001 all.cptlog >>a.cptlog
wait $pid; echo $?
cpt log --json all.cptlog | cmp - lines && echo same
cpt log --follow a.cptlog a.cptlog; echo $?
cpt log --follow --check a.cptlog
