# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# no password of an address is shown, whatever is wrong with the command line
make_log experiment >a.cptlog
cpt aggregate -o a.cpttree a.cptlog
commands=$(cpt --help | sed -n '/^[Cc]ommands/,/^$/s/^  \([a-z]*\) .*/\1/p')
tell() # ADDRESS COMMAND...: gives it the address in each place
{
    address=$1
    shift
    for command in "$@"; do
        timeout 20 cpt "$command" a.cptlog "$address"
        timeout 20 cpt "$command" a.cptlog -o "$address" --where "$address"
        timeout 20 cpt "$command" a.cpttree "--output=$address"
    done
}
commands=$(echo "$commands" | grep -v '^web$\|^demo$\|^collect$')
for command in $commands; do
    timeout 20 cpt "$command" clickhouse://u:hunter2@127.0.0.1:1/db
done >out 2>&1 </dev/null
for address in clickhouses://u:hun/hunter2@127.0.0.1:1/db 'clickhouse://u:hunter2@127.0.0.1:1/d-b' \
    'clickhouse://h:1/db?password=hunter2' http://u:hunter2@127.0.0.1:1; do
    tell "$address" report log aggregate wait graph
    timeout 20 cpt web --port "$address" a.cptlog
    timeout 20 cpt web --listen "$address" a.cptlog
    timeout 20 cpt web --graphs "$address" a.cptlog
    cpt report --html "$address" a.cptlog
    cpt report --entry "$address" a.cptlog
    cpt "$address"
    cpt "--$address"
    cpt "-$address"
    cpt --man "$address"
done >>out 2>&1 </dev/null
grep -c hunter2 out
grep -q '\*\*\*' out && echo 'it is said which address'
