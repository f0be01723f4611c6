# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# every trace that reading all of the logs finds is found by its id, also when logs are
# compressed, grow, are damaged, and when the ids are
data=$(cd "$(dirname "$0")/../../data/depot" && pwd)
compare()
{
    cpt log --json depot 2>none | grep -o '"trace_id":"[0-9a-f]*"' | cut -d'"' -f4 | sort | uniq -c >all
    while read -r count id; do
        got=$(cpt depot get --json depot "$id" 2>said | wc -l)
        [ "$got" = "$count" ] || echo "$1: $id: $got of $count: $(cat said)"
    done <all
    echo "$1: $(wc -l <all) traces, $(awk '{n += $1} END {print n}' all) records"
}
mkdir depot
cat "$data/paths.cptlog" >depot/a.cptlog
make_log traced >>depot/a.cptlog
cat "$data/paths.cptlog" >>depot/a.cptlog
cpt log -o depot/b.cptlog --compress "$data/paths.cptlog"
compare "as written"
make_log experiment >>depot/a.cptlog
cat "$data/paths.cptlog" depot/b.cptlog >>depot/a.cptlog
compare "grown"
printf XXXXXXXXXX | dd of=depot/a.cptlog bs=1 seek=5000 conv=notrunc 2>none
printf XXXXXXXXXX | dd of=depot/a.cptlog bs=1 seek=30000 conv=notrunc 2>none
rm depot/.a.cptlog.ids
compare "damaged"
printf X | dd of=depot/.a.cptlog.ids bs=1 seek=300 conv=notrunc 2>none
compare "damaged ids"
chmod a-w depot; rm -f depot/.b.cptlog.ids 2>none
compare "read-only"
chmod u+w depot
