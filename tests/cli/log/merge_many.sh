# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a folder may have more logs than a process may open before it asks for more
make_log few >a.cptlog
mkdir logs
i=100
while [ $i -lt 250 ]; do
    cp a.cptlog logs/$i.cptlog
    i=$((i + 1))
done
ulimit -S -n 64
cpt log -o all.cptlog logs
cpt log --check all.cptlog
cpt report --json logs | grep -o '"requests":[0-9]*\|"source":[^]]*]'
ulimit -n 64
cpt log -o none.cptlog logs; echo $?
