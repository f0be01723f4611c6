# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a trace by its id, whatever happens to the files of ids; retention
mkdir depot
make_log traced >depot/a.cptlog
make_log experiment >depot/b.cptlog
id=30313233343536373839616263646566
cpt depot get depot $id | head -3
cpt depot get --json depot $id | wc -l
ls -A depot
cpt depot list depot
echo "torn, of another log, empty, and no file of ids"
head -c 100 depot/.b.cptlog.ids >x; cp x depot/.b.cptlog.ids
cpt depot get --json depot $id | wc -l
cp depot/.a.cptlog.ids depot/.b.cptlog.ids
cpt depot get --json depot $id | wc -l
: >depot/.b.cptlog.ids
cpt depot get --json depot $id | wc -l
rm depot/.b.cptlog.ids; mkdir depot/.b.cptlog.ids
cpt depot get --json depot $id | wc -l
rmdir depot/.b.cptlog.ids
echo "a log that has grown, or lost its end"
cat depot/b.cptlog >>depot/a.cptlog
cpt depot get --json depot $id | wc -l
head -c 3000 depot/b.cptlog >x; cp x depot/b.cptlog
cpt depot get --json depot $id | wc -l
echo "the same as reading all"
cpt log --json --where trace_id=$id depot 2>none | wc -l
cpt depot get -o one.cptlog depot $id && cpt log --check one.cptlog
echo "not there"
cpt depot get depot 0af7651916cd43dd8448eb211c80319c nonsense; echo "exit $?"
