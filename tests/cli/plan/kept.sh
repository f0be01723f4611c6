# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a keep rule has left 100 slow requests and 40 of 2,000 others, which weigh 50 each
make_log kept >a.cptlog
plan() {
    cpt plan --json "$@" | sed 's/.*\("deviation_ns"\)/\1/; s/,"difference".*//'
}
echo 'the slow ones are 1 in 21 requests:'
cpt plan --where 'latency > 250ms' --within 2% --rate 100 a.cptlog
echo 'slow, the others, a page, and all:'
plan --where 'latency > 250ms' --within 2% a.cptlog
plan --where 'latency < 250ms' --within 2% a.cptlog
plan --where page=search --within 2% a.cptlog
plan --within 2% a.cptlog
echo 'if each is traced, or one in a hundred:'
plan --within 2% --probability 1 a.cptlog
plan --within 2% --probability 1% a.cptlog
echo 'weights that are ignored, forced ones, a sample, given twice:'
plan --where 'latency > 250ms' --within 2% --include-forced a.cptlog
plan --where 'latency > 250ms' --within 2% --sample 100 a.cptlog
plan --where 'latency > 250ms' --within 2% a.cptlog a.cptlog
echo 'a tree knows the records only:'
cpt aggregate -w 'latency > 250ms' -o a.cpttree a.cptlog
plan --within 2% a.cpttree
cpt plan --within 2% a.cpttree 2>none | grep slice:
