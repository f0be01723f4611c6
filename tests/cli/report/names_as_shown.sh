# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a name is chosen as it is, and as it is shown with escapes; it is escaped once
make_log named >a.cptlog
cpt report a.cptlog; echo $?
# what the message lists can be given, each word of it
cpt report a.cptlog 2>&1 | sed 's/.*--entry: //' | sed 's/, /\n/g' >names
while IFS= read -r name; do
    for terms in "--entry=$name" "--where=service=$name" "--where=entry=$name: /"; do
        cpt report "$terms" a.cptlog | head -1
        cpt log "$terms" a.cptlog | tail -n +2 | wc -l
    done
    cpt show "--entry=$name" a.cptlog | head -1
    cpt report --json "--entry=$name" a.cptlog | grep -o '"entry":"[^,]*'
done <names
# and as they are
for name in 'a;b' 'c\d' "$(printf '\033[2Je')" '<b>f' "$(printf '\377g')" '"j" k'; do
    cpt report "--entry=$name" a.cptlog | head -1
done
# the name \x3b is shown as \x5cx3b, and of ; nothing is there
cpt report --entry '\x3b' a.cptlog | head -1
# not equal, and lists
cpt log --where 'service != "a\x3bb"' a.cptlog | wc -l
cpt log --where 'service in ("a\x3bb", "c\x5cd")' a.cptlog | wc -l
cpt log --where 'service not in ("a\x3bb", "c\x5cd")' a.cptlog | wc -l
cpt log --where 'service < "a\x3bb"' a.cptlog | wc -l
# what is shown so by no name stays as it is
cpt report --entry 'a\x62' a.cptlog; echo $?
cpt report --entry '\x3' a.cptlog 2>/dev/null; echo $?
cpt report --entry '' a.cptlog 2>/dev/null; echo $?
# trees, which note the name as it is shown
cpt aggregate --entry 'a;b' -o a.cpttree a.cptlog
cpt report --entry 'a;b' a.cpttree | head -1
cpt report --entry 'a\x3bb' a.cpttree | head -1
cpt report --entry 'c\d' a.cpttree; echo $?
cpt aggregate --entry 'c\x5cd' -o c.cpttree a.cptlog
cpt report a.cpttree c.cpttree; echo $?
cpt merge -o m.cpttree a.cpttree c.cpttree; echo $?
cpt report --entry 'a\x3bb' --html a.html a.cptlog && grep -o '<title>.*</title>' a.html
cpt diff a.cpttree c.cpttree 2>&1 >/dev/null | head -1
