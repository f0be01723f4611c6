# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# operations, replicas and values of an attribute; what has none is told, or refused
. "$(dirname "$0")/spans_of_shops.sh"
shop none 'b0 b1 b2' >base.json
shop get 'b0 b1 b2' >get.json
shop b1 'b0 b1 b3' >b1.json
echo 'an operation'
cpt culprit --by operation base.json get.json
echo 'a replica, of spans and of logs with all visits; a replica that was replaced'
cpt culprit --by replica base.json b1.json
cpt import --visits -o base.cptlog base.json
cpt import --visits -o b1.cptlog b1.json
cpt culprit --by replica --json base.cptlog b1.cptlog >replica.json
grep -o '"by".*"new_missing":[0-9]*' replica.json
grep -o '"service":"B@b1".*"culprit":true' replica.json
grep -A9 unjudged replica.json
echo 'the same by service: the other replicas are as before'
cpt culprit base.json b1.json | head -1
echo 'a value'
make_log delays >delays.cptlog
arms='--base experiment_arm=plain --new experiment_arm=delayed'
cpt culprit --by attribute:experiment $arms delays.cptlog
cpt culprit --by attribute:experiment delays.cptlog delays.cptlog | head -1
echo 'refused'
for words in "attribute:experiment_arm $arms delays.cptlog" "attribute:experimen $arms delays.cptlog" \
    "attribute: $arms delays.cptlog" "attribute $arms delays.cptlog" "replica $arms delays.cptlog" \
    'replica base.json delays.cptlog' 'replica nameless.json base.json'; do
    [ -s nameless.json ] || shop none '' >nameless.json
    cpt culprit --json --by $words
    echo "$?"
done 2>&1
