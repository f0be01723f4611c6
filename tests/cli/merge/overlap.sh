# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# parts that share requests are known, and each part's selection is named
make_log experiment >a.cptlog
head_of()
{
    cpt report "$@" | sed -n 1,2p
    cpt report --json "$@" 2>/dev/null | grep -o '"overlap":[a-z]*\|"part":\[[^]]*\]' | tr '\n' ' '
    echo
}
cpt aggregate -o all.cpttree a.cptlog
cpt aggregate --where 'latency < 15ms' -o fast.cpttree a.cptlog
cpt aggregate --where 'latency >= 15ms' -o slow.cpttree a.cptlog
echo parts of one log
head_of fast.cpttree slow.cpttree
echo a part beside all
head_of fast.cpttree all.cpttree
cpt merge -o both.cpttree fast.cpttree all.cpttree
cpt merge -o turned.cpttree all.cpttree fast.cpttree 2>/dev/null && cmp both.cpttree turned.cpttree
echo and later
head_of both.cpttree
cpt merge -o three.cpttree both.cpttree slow.cpttree 2>/dev/null
cpt merge -o once.cpttree slow.cpttree all.cpttree fast.cpttree 2>/dev/null && cmp three.cpttree once.cpttree
echo a tree beside its log
head_of fast.cpttree a.cptlog
cpt report --html page.html a.cptlog all.cpttree
echo a tree of a copy
cp a.cptlog copy.cptlog
cpt aggregate -o copy.cpttree copy.cptlog
head_of all.cpttree copy.cpttree
echo trees that share one of their logs
make_log traced >b.cptlog
make_log few >c.cptlog
cpt aggregate -o ac.cpttree -e A a.cptlog c.cptlog 2>/dev/null
cpt aggregate -o cb.cpttree -e A b.cptlog c.cptlog 2>/dev/null
cpt report ac.cpttree cb.cpttree | sed -n 2p
echo an empty part overlaps with nothing
cpt aggregate --where 'latency > 1h' --allow-empty -o none.cpttree a.cptlog 2>/dev/null
head_of none.cpttree all.cpttree
echo duplicates that are kept
cpt merge --keep-duplicates -o kept.cpttree fast.cpttree all.cpttree
head_of kept.cpttree
echo many selections
for ms in 12 13 14 15 16; do
    cpt aggregate --where "latency < ${ms}ms" --allow-empty -o "under$ms.cpttree" a.cptlog 2>/dev/null
done
cpt merge -o many.cpttree under*.cpttree
head_of many.cpttree
