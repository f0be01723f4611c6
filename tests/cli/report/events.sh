# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# records made from event logs count only where there are no others
make_log events >mixed.cptlog
cpt log --where cpt.source=events --output events.cptlog mixed.cptlog >out.txt || cat out.txt
cpt log --where 'not has(cpt.source)' --output traced.cptlog mixed.cptlog >out.txt || cat out.txt
head_of() {
    echo "$*:"
    cpt "$@" >out.txt 2>err.txt || echo "exit $?"
    sed -n 1,3p out.txt
    cat err.txt
}
same() { # same ARGUMENT...: of a file as of a pipe
    cpt report "$@" events.cptlog >file.txt 2>&1
    cpt report "$@" - <events.cptlog >pipe.txt 2>&1
    diff file.txt pipe.txt >differences.txt &&
        echo "a pipe: the same $*" || cat differences.txt
}
echo "there are others:"
head_of report mixed.cptlog
head_of report events.cptlog traced.cptlog
head_of report --where 'latency > p50' mixed.cptlog
cpt report --json mixed.cptlog | grep -o '"events_excluded":[0-9]*'
cpt aggregate mixed.cptlog -o mixed.cpttree && head_of report mixed.cpttree
echo "there are none:"
head_of report events.cptlog
cpt report --json events.cptlog | grep -c events_excluded
head_of report --where 'latency > 2ms' mixed.cptlog
head_of report --where 'latency > p50' events.cptlog
head_of report --sample 7 events.cptlog
head_of report --where user=none events.cptlog
same --keep-duplicates
same --where user=odd
echo "they are asked for:"
head_of report --evidence learnt mixed.cptlog
head_of report --where cpt.source=events mixed.cptlog
head_of report --evidence told mixed.cptlog
echo "two selections of one reading:"
cpt diff --base user=even --new user=odd mixed.cptlog | sed -n 1,4p
cpt diff --base user=even --new user=odd events.cptlog | sed -n 1,4p
cpt diff --base 'user == "even" and latency < 2ms' --new 'user == "odd" and latency > 2ms' mixed.cptlog | sed -n 1,4p
echo "one by one:"
cpt log mixed.cptlog | wc -l
cpt show --slowest mixed.cptlog | sed -n 1p
