# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what a shorter frame would give back: both ends, by stack and over all stacks of a frame
make_log drags >a.cptlog
make_log experiment >none.cptlog
cpt report a.cptlog
cpt report --drag a.cptlog
echo 'one arm, by its weights'
cpt report --drag --where arm=treatment --include-forced a.cptlog
cpt report --drag --json --max-bytes 1200 a.cptlog
echo 'errors by cluster; a cluster for each request is as none'
cpt report --drag --cluster items a.cptlog
cpt report --drag --cluster ratio a.cptlog | grep 'B: B2'
cpt report --drag --json --cluster items a.cptlog | grep -o '"cluster":{[^}]*}'
echo 'a tree keeps the drags by stack'
cpt aggregate -o a.cpttree a.cptlog
cpt report --json a.cptlog | grep '^{"stack"' >log.rows
cpt report --json a.cpttree | grep '^{"stack"' | cmp - log.rows && head -3 log.rows
for arm in control treatment; do
    cpt aggregate --where arm=$arm -o $arm.cpttree a.cptlog
done
cpt merge -o both.cpttree treatment.cpttree control.cpttree
cpt report --json both.cpttree | grep '^{"stack"' | cmp - log.rows && echo 'merged, the same'
cpt aggregate --tree-version 2 -o old.cpttree a.cptlog
cpt aggregate -o none.cpttree none.cptlog
cpt report old.cpttree | tail -n +3 >old.txt
cpt report none.cpttree | tail -n +3 | cmp - old.txt && echo 'without drags, as if there were none'
cpt report --cluster items --json a.cptlog | grep -o '"gain":{[^}]*}' | head -2
for no in '--drag none.cptlog' '--drag a.cpttree' '--drag --cluster nosuch a.cptlog' '--drag --group-by arm a.cptlog' \
    '--drag --where arm=none a.cptlog'; do
    cpt report $no
    echo $?
done
