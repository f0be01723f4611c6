# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# traces whose root was lost: a record says so, and no average has it unless it is asked for
# span TRACE ID PARENT START DURATION: a span of Zipkin; an empty time is none
span()
{
    printf '{"traceId": "%s", "id": "%s", "parentId": "%s", "name": "%s"' "$1" "$2" "$3" "$2"
    [ -z "$4" ] || printf ', "timestamp": %s, "duration": %s' "$4" "$5"
    printf ', "localEndpoint": {"serviceName": "front"}}'
}
list()
{
    printf '[['
    while [ $# -gt 5 ]; do
        span "$1" "$2" "$3" "$4" "$5"
        printf ', '
        shift 5
    done
    span "$@"
    printf ']]\n'
}
list 1a a "" 1000 100000  1a b a 2000 90000 >whole.json
list 2a b x 2000 19000  2a c x 30000 69000 >missing.json
list 3a a "" "" ""  3a b a 2000 30000  3a c a 60000 40000 >timeless.json
# the root, and what is below it, have no times; another one below a missing root
list 4a a "" "" ""  4a m a "" ""  4a b m 2000 30000 >chain.json
list 5a m x "" ""  5a b m 2000 30000 >missing_chain.json
list 6a a "" "" ""  6a b a "" "" >none.json
list 7a a b 1000 10  7a b a 1000 10  7a c b 1000 10 >circle.json
# in a circle without times
list 8a a b "" ""  8a b a "" ""  8a c b 1000 10 >timeless_circle.json
list 9a a "" 1000 0 >moment.json
# there is a root: an orphan beside it makes no fragment of it
list aa a "" 1000 1000  aa b x 0 5000 >orphan.json
for name in whole missing timeless chain missing_chain orphan none circle timeless_circle moment; do
    echo "== $name"; echo "== $name" >&2
    cpt import $name.json -o $name.cptlog; echo "exit $?"
    [ ! -e $name.cptlog ] || cpt log --json $name.cptlog | sed 's/.*"latency_ns":\([0-9]*\).*"meta":\({[^}]*}\).*/\1 \2/'
done
echo "== explained"
cpt explain 3a c timeless.json; cpt explain 4a b chain.json; cpt explain 5a b missing_chain.json
cpt explain 6a b none.json; cpt explain 7a c circle.json; cpt explain 8a c timeless_circle.json
cpt explain --json 6a b none.json; cpt explain --json 3a c timeless.json
cpt import --sections timeless.json 2>/dev/null | grep -o '"fragment":"[a-z_]*"'

echo "== averages"; echo "== averages" >&2
cpt import -o all.cptlog whole.json missing.json timeless.json 2>/dev/null
for command in report folded contention precision "report --where latency<=p99"; do
    for option in "" --include-fragments; do
        echo "-- $command $option"
        # shellcheck disable=SC2086
        cpt $command $option all.cptlog | head -2 |
            grep -o '^front: [0-9]* requests*\|[0-9]* fragments left out\|fragments included\|^front: .* [0-9]*$'
    done
done
cpt report --json all.cptlog | grep -o '"requests":[0-9]*,\|"fragments_excluded":[0-9]*'
cpt report --where 'has(cpt.fragment)' all.cptlog | head -1
cpt aggregate all.cptlog -o without.cpttree && cpt report without.cpttree | head -2
cpt aggregate --include-fragments all.cptlog -o with.cpttree && cpt report with.cpttree | sed -n 2p
cpt report --include-fragments without.cpttree; echo "exit $?"
for option in "" --include-fragments; do
    echo "-- pprof, diff, culprit $option"; echo "-- $option" >&2
    # shellcheck disable=SC2086
    cpt pprof $option missing.cptlog -o x.pb.gz >/dev/null; echo "exit $?"
    # shellcheck disable=SC2086
    cpt diff $option all.cptlog --base method=a --new 'method != a' | grep -o '^[a-z]*: front: [0-9]* request'
    # shellcheck disable=SC2086
    cpt culprit $option all.cptlog --base method=a --new 'method != a' | head -1
done
cpt report missing.cptlog; echo "exit $?"
cpt log all.cptlog | wc -l
cpt assert 'no span("front: c")' all.cptlog; echo "exit $?"
