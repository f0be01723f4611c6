# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# two folders of rotated logs are two sets
mkdir old new
make_log experiment >all.cptlog
for part in 1 2 3; do
    cpt log -o old/$part.cptlog --where arm=control --where "items != $part" all.cptlog
    cpt log -o new/$part.cptlog --where arm=treatment --where "items != $part" all.cptlog
done
echo text >new/README
cpt diff --keep-duplicates old new/ >folders.txt
cpt diff --keep-duplicates old/1.cptlog new/1.cptlog | head -2
head -6 folders.txt
cpt diff --keep-duplicates --json old new/ | tr '{' '\n' | grep -o '"requests":[0-9]*\|"source":[^]]*]'
echo '-- a folder and a file'
cpt diff --keep-duplicates old new/1.cptlog --top 1 | head -2
echo '-- two selections of two folders'
cpt diff --keep-duplicates old new --base arm=control --new arm=treatment --json | tr '{' '\n' |
    grep -o '"requests":[0-9]*\|"source":[^]]*]'
cpt diff --keep-duplicates old; echo $?
cpt diff --keep-duplicates old new all.cptlog; echo $?
