# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# who became slower: two logs, two selections of one, by service, component and edge
make_log experiment >a.cptlog
two='--base arm=control --new arm=treatment'
for by in service name edge; do
    echo "by $by"
    cpt culprit --by $by $two a.cptlog
done
mkdir one two
for arm in control treatment; do
    cpt log --where arm=$arm -o $arm.cptlog a.cptlog
done
echo 'the same from two logs, and from two folders'
cpt culprit $two a.cptlog >selections
cpt culprit control.cptlog treatment.cptlog | cmp - selections
mv control.cptlog one
mv treatment.cptlog two
cpt culprit one two | cmp - selections
echo 'the other way round, and the same twice'
cpt culprit two one | head -1
cpt culprit --top 1 one one
