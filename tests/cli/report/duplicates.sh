# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a record that is given several times counts once: by its trace id, start, entry and path,
# or by its bytes; --keep-duplicates counts each
make_log experiment >a.cptlog
cp a.cptlog copy.cptlog
cat a.cptlog copy.cptlog >both.cptlog
cpt report a.cptlog | sed -n 1,2p
cpt report a.cptlog copy.cptlog | sed -n 1,2p
cpt report - <both.cptlog | sed -n 1,2p
cpt report --keep-duplicates a.cptlog copy.cptlog | sed -n 1,2p
cpt report --json a.cptlog copy.cptlog 2>none | grep -o '"requests":[0-9]*\|"[a-z_]*duplicates[a-z_]*":[^,]*'
cpt report --json --keep-duplicates a.cptlog copy.cptlog | grep -o '"requests":[0-9]*\|"[a-z_]*duplicates[a-z_]*":[^,]*'
# so do samples, percentiles, mixes, both sides of a comparison, and what is made of a tree
cpt report --sample 500 both.cptlog 2>none | sed -n 2p
cpt report --where 'latency > p90' both.cptlog 2>none | sed -n 1,2p
cpt report --where 'latency > p90' a.cptlog | sed -n 1,2p
for options in '' '--mix region' '--by name'; do
    cpt diff $options both.cptlog --base arm=control --new arm=treatment | grep -v selection >twice
    cpt diff $options a.cptlog --base arm=control --new arm=treatment | grep -v selection >once
    cmp twice once && echo same
done
cpt folded both.cptlog 2>none >twice && cpt folded a.cptlog >once && cmp twice once && echo same
cpt precision --requests 20 both.cptlog 2>none | sed -n 3,99p >twice
cpt precision --requests 20 a.cptlog | sed -n 3,99p >once
cmp twice once && echo same
cpt aggregate -o twice.cpttree both.cptlog
cpt report twice.cpttree | sed -n 1,2p
# a copy with another status is the same request: the first one counts, by any threads
make_log traced >traced.cptlog
make_log retold >retold.cptlog
cpt report traced.cptlog retold.cptlog | sed -n 1,2p
cpt report --where status=retold traced.cptlog retold.cptlog | sed -n 1,2p
for jobs in 1 2 3 8; do
    cpt aggregate -j $jobs --no-source -o $jobs.cpttree a.cptlog traced.cptlog both.cptlog \
        retold.cptlog copy.cptlog retold.cptlog traced.cptlog 2>$jobs.said
    cmp 1.cpttree $jobs.cpttree && cmp 1.said $jobs.said && echo same
done
cat 1.said
