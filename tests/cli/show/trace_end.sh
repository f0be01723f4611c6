# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the last 16 digits of a trace's id, as labels and tables show them, choose it everywhere
make_log contended >a.cptlog
cpt log --paths a.cptlog | grep -o 'holder_[a-z]* [0-9a-f]*'
cpt log --json a.cptlog | grep -o '"holder_request":[0-9]*,"holder_trace":"[0-9a-f]*"' | sort | uniq -c
cpt contention --requests a.cptlog | tail -2
end=$(cpt log --json a.cptlog | sed -n 's/.*"holder_trace":"\([0-9a-f]*\)".*/\1/p' | head -1)
cpt show --trace "$end" a.cptlog | head -1
make_log traced >t.cptlog
id=$(cpt log --json t.cptlog | sed -n 's/.*"trace_id":"\([0-9a-f]*\)".*/\1/p' | sed -n 4p)
end=${id#????????????????}
echo "$id $end"
for typed in "$id" "$end"; do
    cpt show --trace "$typed" t.cptlog | head -1
    cpt log --where "trace_id=$typed" t.cptlog | tail -1
    cpt log --where "trace_id == \"$typed\"" t.cptlog | tail -1
    cpt log --where "trace_id in (\"$typed\", 00000000000000000000000000000000)" t.cptlog | tail -1
    cpt log --where "trace_id != \"$typed\"" t.cptlog | wc -l
    cpt report --where "trace_id=$typed" t.cptlog | head -1
done
cpt depot add depot t.cptlog >added
cpt depot get depot "$end" | head -3
cpt depot get --json depot "$end" "$id" | grep -c "$id"
cpt depot get depot 00000000000000ff; echo $?
cpt show --trace "${end#0}" t.cptlog; echo $?
cpt log --where 'trace_id == "12"' t.cptlog; echo $?
cpt log --where "trace_id=${end}0" t.cptlog; echo $?
