# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# parts of one selection count the records of their log once, and a tree given twice counts once
make_log experiment >a.cptlog
make_log traced >other.cptlog
numbers()
{
    cpt report --json "$@" | grep -o '"requests":[0-9]*\|"records":[0-9]*' | tr '\n' ' '
    echo
}
numbers a.cptlog
for arm in control treatment; do
    cpt aggregate --where arm=$arm -o $arm.cpttree a.cptlog
done
cpt aggregate --where 'arm != "control" and arm != "treatment"' --allow-empty -o none.cpttree a.cptlog 2>/dev/null
echo three parts
cpt merge -o whole.cpttree control.cpttree treatment.cpttree none.cpttree && numbers whole.cpttree
numbers control.cpttree treatment.cpttree none.cpttree
cpt merge -o turned.cpttree none.cpttree treatment.cpttree control.cpttree && cmp whole.cpttree turned.cpttree
echo two parts, and again
cpt merge -o two.cpttree control.cpttree treatment.cpttree
cpt merge -o again.cpttree two.cpttree none.cpttree && numbers again.cpttree
cpt plan --json whole.cpttree | grep -o '"slice":[^,]*'
echo parts of another log with as many records
cpt aggregate -e A -o first.cpttree other.cptlog
numbers first.cpttree control.cpttree
echo the same tree twice
cpt merge -o twice.cpttree control.cpttree control.cpttree && cmp control.cpttree twice.cpttree && numbers twice.cpttree
cp control.cpttree copy.cpttree
numbers control.cpttree copy.cpttree
numbers --keep-duplicates control.cpttree copy.cpttree
cpt merge --keep-duplicates -o twice.cpttree control.cpttree copy.cpttree && numbers twice.cpttree
echo by threads
for i in $(seq 40); do cp control.cpttree "c$i.cpttree"; done
cpt merge -o twice.cpttree c*.cpttree treatment.cpttree && numbers twice.cpttree
