# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what killed processes left in a depot is removed, and nothing else
mkdir depot depot/sub
make_log traced >depot/a.cptlog
make_log traced >depot/b.cptlog
make_log traced >depot/sub/c.cptlog
cpt depot list depot >none
echo "ids without a log; those of a log; no ids at all"
mv depot/b.cptlog kept
cp depot/.a.cptlog.ids depot/sub/.gone.cptlog.ids
echo mine >depot/.mine.ids
cpt depot drop --dry-run --before 2000-01-01T00:00:00Z depot
ls -A depot depot/sub
cpt depot drop --before 2000-01-01T00:00:00Z depot
ls -A depot depot/sub
echo "unfinished files: without a writer, with one, new, and of another kind"
for name in alone writer; do
    cp kept depot/.$name.cptlog.abcdef
    touch -d '1 hour ago' depot/.$name.cptlog.abcdef
done
cp kept depot/.new.cptlog.abcdef
cp depot/.a.cptlog.ids depot/.b.cptlog.ids.abcdef
cp depot/.mine.ids depot/.mine.abcdef
touch -d '1 hour ago' depot/.b.cptlog.ids.abcdef depot/.mine.abcdef
cpt log --check depot
exec 9<depot/.writer.cptlog.abcdef
flock 9
cpt depot add depot kept >none
ls -A depot | sed 's/[0-9]*T.*Z.*cptlog/ADDED/'
exec 9<&-
cpt depot drop --before 2000-01-01T00:00:00Z depot
ls -A depot | sed 's/[0-9]*T.*Z.*cptlog/ADDED/'
