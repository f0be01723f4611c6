# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# each line that cpt FILE proposes works: of partial input, of mixed folders, of any names
here=$(cd "$(dirname "$0")" && pwd)
data=$here/../../data
next() # FILE: runs what it says comes next, prints it
{
    cpt "$1" 2>err | sed -n '/^next/,$p' >said
    cat err
    sed '/^  *[^ ].*[?.]$/{/^      /d}' said
    sed -n 's/^  \([^ ].*\)/\1/p' said >lines
    while read -r line; do
        case $line in # it serves until it is ended
        'cpt web '*) line="$(printf '%s\n' "$line" | sed 's/^cpt web/timeout 0.5 cpt web --port 0/') || [ \$? = 124 ]" ;;
        esac
        sh -c "$line" >out 2>err </dev/null || echo "FAILED: $? $(cat err)"
    done <lines
}
trace() # NUMBER SERVICE: a trace of one span; the service is JSON
{
    printf '{"traceID": "%032x", "processes": {"p": {%s}},' "$1" "${2:+\"serviceName\": $2}"
    printf '"spans": [{"spanID": "%x", "operationName": "op", "processID": "p",' "$1"
    printf '"startTime": 170000000%s000000, "duration": 100000, "references": []}]}' "$1"
}
traces() # SERVICE OTHER: two of one service, one of the other one
{
    printf '{"data": ['
    trace 1 "$1"; printf ','; trace 2 "$1"; printf ','; trace 3 "$2"
    printf ']}\n'
}
echo '-- a path log made of spans'
cpt import -o spans.cptlog "$data/spans/traces.json" 2>/dev/null
next spans.cptlog
echo '-- an empty path log beside a tree; other JSON beside it'
mkdir -p tree/sub
: >tree/paths.cptlog
cp "$data/tree/v3/example.cpttree" tree
echo '{"a": 1}' >tree/sub/x.json
cpt tree | head -9
next tree
echo '-- trees of different services'
mkdir trees
cpt aggregate -o trees/1.cpttree spans.cptlog
cp tree/example.cpttree trees/2.cpttree
next trees
echo '-- a graph log of inner services alone; beside the log of the others'
mkdir inner graphs
make_graphs B 8 >inner/B.cptgraph
next inner
next inner/B.cptgraph
cpt inner/B.cptgraph --json | tail -1
cp inner/B.cptgraph graphs
make_graphs A 8 >graphs/A.cptgraph
next graphs/B.cptgraph
echo '-- a path log without records beside spans'
mkdir beside
make_log few | head -c 100 >beside/a.cptlog
cp "$data/spans/traces.json" beside
cpt beside --json 2>&1
echo '-- a service without a name, records of inner services that were forced'
next "$data/path-log/v1/three-records.cptlog" | sed "s|$data/||"
make_log inner >inner.cptlog
next inner.cptlog
echo '-- services'
traces '"-e"' '"b"' >dash.json
traces '' '"b"' >none.json
traces '"a\nb c\n"' '"b"' >lines.json
traces "\"it's\"" '"b"' >quote.json
for file in dash none lines quote; do
    next $file.json | grep -v '^cpt:'
    cpt import -o $file.cptlog $file.json 2>/dev/null
    next $file.cptlog
done
echo '-- names of files'
for name in "$(printf 'a%%d\n b')" "$(printf '\377\n.')"; do
    cp spans.cptlog "./$name"
    next "./$name"
done
cp spans.cptlog 'line
'
cpt './line
' | sed -n '/^next/,$p' | head -2
echo '-- what cannot be read again'
cat spans.cptlog | cpt - | sed -n '/^next/,$p' | head -2
mkfifo pipe
cat spans.cptlog >pipe &
cpt pipe | sed -n '/^next/,$p' | head -2
cat "$data/spans/traces.json" | cpt - 2>&1 | sed '/^ /d'
cat "$data/spans/traces.json" | cpt report - 2>&1 | head -2
echo '-- what is none'
gzip -c spans.cptlog >log.gz
printf '\037\213' >two
head -c 100 /dev/zero >zeros
tail -c +9 graphs/A.cptgraph >damaged.cptgraph
tail -c +9 spans.cptlog >damaged.cptlog
cp "$data/path-log/bad/half-a-magic.cptlog" unweighted.cptlog
for file in log.gz two zeros damaged.cptgraph damaged.cptlog unweighted.cptlog; do
    cpt $file 2>&1 | head -3
done
cpt zeros --json 2>/dev/null
echo '-- each file and folder of tests/data'
find "$data" \( -type d -o -type f ! -path '*/metadata/*' \) | while read -r file; do
    ! cpt "$file" >out 2>err || next "$file" | grep -A5 '^FAILED'
done
