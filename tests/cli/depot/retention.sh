# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# logs are added, and dropped by age and size, with their ids
make_log experiment >a.cptlog
make_log traced >b.cptlog
cpt depot add depot a.cptlog b.cptlog | sed 's/[0-9]*T.*Z.*cptlog/ADDED/'
cpt log --check depot | sed 's/[0-9]*T.*Z.*cptlog/ADDED/'
mv depot/*.cptlog depot/c.cptlog; rm depot/.*.ids
cp b.cptlog depot/b.cptlog
cpt depot list --json depot | sed 's/"bytes":[0-9]*/"bytes":N/'
cpt depot drop --dry-run --keep 1k depot
cpt depot drop --before 2000-01-01T00:00:00Z depot
cpt depot drop --keep 100G depot
ls -A depot
size=$(wc -c <depot/c.cptlog)
cpt depot drop --keep $size depot
ls -A depot
cpt depot drop --before 2100-01-01T00:00:00Z depot
ls -A depot
cpt depot list depot; echo "exit $?"
# what is no folder of logs, or no log, is not touched
echo mine >notes.txt
mkdir others
cp notes.txt others/x.cptlog
cpt depot drop notes.txt --keep 1; echo "exit $?"
cpt depot list notes.txt; echo "exit $?"
cpt depot drop others --keep 1; echo "exit $?"
cat notes.txt others/x.cptlog
ls -A . others | grep -c 'notes.*ids' || true
