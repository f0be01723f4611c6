# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --by: rows are stacks, services, names or edges; a name that calls itself counts once;
# with clusters, drags, --max-bytes, as a page; what does not go with it
make_log experiment >a.cptlog
for by in service name edge; do
    cpt report --by $by a.cptlog | sed -n '4,$p'
done
cpt report a.cptlog >plain
cpt report --by stack a.cptlog | cmp - plain && echo "by stack as without"
cat >recursion.json <<'SPANS'
[{"traceId":"01","id":"01","name":"get","timestamp":1600000000000000,"duration":1000,"localEndpoint":{"serviceName":"front"}},
{"traceId":"01","parentId":"01","id":"02","name":"walk","timestamp":1600000000000100,"duration":800,"localEndpoint":{"serviceName":"tree"}},
{"traceId":"01","parentId":"02","id":"03","name":"walk","timestamp":1600000000000200,"duration":500,"localEndpoint":{"serviceName":"tree"}},
{"traceId":"01","parentId":"03","id":"04","name":"walk","timestamp":1600000000000300,"duration":111,"localEndpoint":{"serviceName":"tree"}}]
SPANS
cpt import -o recursion.cptlog recursion.json 2>none
for by in service name edge; do
    cpt report --by $by recursion.cptlog | sed -n '6,$p'
done
cpt report --by name --max-bytes 600 a.cptlog | sed -n '4,$p'
cpt report --by name --json --max-bytes 2k a.cptlog | tail -2 | grep -o '"rest":.*'
cpt report --by name --json a.cptlog | grep -o '"by":"[a-z]*"'
cpt report --by service --cluster minute a.cptlog | head -3
cpt report --by name --cluster minute --json a.cptlog | sed -n 4p
cpt report --by edge --quantiles 50%,90% a.cptlog | sed -n '4,$p'
make_log drags >d.cptlog
cpt report --by name d.cptlog
cpt report --by edge --html page.html a.cptlog
grep -o '"by":"edge"' page.html
cpt report --by service --html arms.html --base arm=control --new arm=treatment a.cptlog
grep -o '"by":"service"' arms.html
cpt report --by name --where arm=none a.cptlog; echo "exit $?"
cpt report --by names a.cptlog; echo "exit $?"
for other in --group-by=arm --blind-spots --drag; do
    cpt report --by name $other a.cptlog; echo "exit $?"
done
cpt aggregate -o a.cpttree a.cptlog
cpt report --by stack a.cpttree | sed -n 4p
cpt report --by name a.cpttree; echo "exit $?"
rm page.html
cpt report --by name --html page.html a.cpttree; echo "exit $?"
test ! -e page.html && echo "no page"
