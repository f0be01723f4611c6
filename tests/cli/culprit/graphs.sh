# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# graph logs have all visits: of two calls side by side the one that is slower is named
siblings() { # FOLDER DELAY_MS SEED
    mkdir -p "$1"
    for service in F X Y Z; do
        make_graphs $service 1000 "$2" "$3" >"$1/$service.cptgraph"
    done
}
arms='--base arm=A --new arm=B'
echo 'Y is slower in arm B'
siblings slow 8 1
cpt culprit $arms slow
for seed in $(seq 2 20); do
    siblings slow 8 $seed
    cpt culprit $arms slow | head -1 | grep '^Y: ' | grep -c 'first in'
done | sort | uniq -c
echo 'nothing is'
for seed in $(seq 1 20); do
    siblings same 0 $seed
    cpt culprit $arms same | head -1
done | sort | uniq -c
echo 'two folders, and two sets of files'
siblings more 8 21
cpt culprit same slow | head -1
cpt culprit --base arm=A --new arm=B slow/*.cptgraph | head -1
echo 'who is looked for'
for by in name edge operation attribute:user; do
    cpt culprit --by $by $arms slow | head -1
done
cpt culprit --cluster user $arms slow | head -1
echo 'a callee without a log; a set of graphs and one of paths'
mkdir some && cp slow/F.cptgraph slow/X.cptgraph slow/Z.cptgraph some
cpt culprit $arms some | head -1
make_log experiment >paths.cptlog
for words in '--by replica same slow' 'same paths.cptlog' '--where path("F")>1ms same slow' \
    "$arms some/X.cptgraph" '--graphs some paths.cptlog' '--by attribute:usr same slow'; do
    cpt culprit $words
    echo "$?"
done 2>&1
echo 'structure is compared'
cpt culprit --json $arms slow | grep -o '"structure":\[\]'
echo 'beside spans, and path logs'
echo '{"data":[]}' >slow/spans.json
cpt culprit $arms slow | head -1
cp paths.cptlog slow
cpt culprit --base arm=control --new arm=treatment slow | head -1
cpt culprit --graphs $arms slow | head -1
echo 'nothing is, but three in ten calls of Y have no record in one set'
siblings full 0 31
siblings part 0 32
make_graphs Y 700 0 32 >part/Y.cptgraph
cpt culprit full part | head -1
