# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a folder stands for its path logs, in the order of their names, whatever else is in it
mkdir -p logs/b/c empty only
make_log few >logs/A-2.cptlog
make_log few >logs/A-1.cptlog
make_log few >logs/b/c/noname
echo text >logs/README
cpt aggregate -o logs/day.cpttree logs/A-1.cptlog
mkfifo logs/pipe
ln -s .. logs/up
ln -s A-1.cptlog logs/current.cptlog
ln -s nothing logs/gone.cptlog
make_log few >logs/.hidden.cptlog
echo text >only/README

say()
{
    echo "-- $*"
    echo "-- $*" >&2
}
requests() { sed -n 's/.*"requests":\([0-9]*\),.*"source":\(\[[^]]*\]\).*/\1 \2/p'; }
say 'all of them, and named once'
cpt report --keep-duplicates --json logs/ | requests
cpt report --keep-duplicates --json logs | requests
say 'the same as the files one by one'
cpt report --keep-duplicates logs >folder.txt 2>/dev/null
cpt report --keep-duplicates logs/A-1.cptlog logs/A-2.cptlog logs/b/c/noname >files.txt
cmp folder.txt files.txt && echo same
say 'beside a file'
cpt report --keep-duplicates --json logs/b logs/A-1.cptlog | requests
say 'many files by name are named once, too'
for i in 1 2 3 4 5; do cp logs/A-1.cptlog only/$i.cptlog; done
cpt report --keep-duplicates --json only/*.cptlog logs/A-1.cptlog | requests
say 'nothing there'
cpt report empty; echo $?
rm only/*.cptlog
cpt report --keep-duplicates only; echo $?
say 'other commands'
cpt log --check logs
cpt log --json logs 2>/dev/null | wc -l
cpt show --record 9 logs 2>/dev/null | sed -n 2p
cpt log --follow logs; echo $?
cpt folded --keep-duplicates logs 2>/dev/null | head -1
cpt aggregate --keep-duplicates -o folder.cpttree logs 2>/dev/null && cpt report folder.cpttree | head -1
cpt log -o all.cptlog logs 2>/dev/null && cpt log --check all.cptlog
say 'an unreadable name is an error, not less data'
mkdir -p deep/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17
cpt report --keep-duplicates deep; echo $?
rmdir deep/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17
make_log few >deep/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/x.cptlog
cpt report --keep-duplicates --json deep | requests
