# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# cpt FILE says what a file is, and three command lines that work
tests=$(cd "$(dirname "$0")/../.." && pwd)
next() # FILE: runs what it says comes next
{
    (ulimit -c 0; cpt "$1" 2>/dev/null) | sed -n '/^next:/,$s/^  \([^ ].*\)/\1/p' >lines
    [ "$(wc -l <lines)" = 3 ] || echo "$1: $(wc -l <lines) lines"
    while read -r line; do
        case $line in # it serves until it is ended
        'cpt web '*) line="$(printf '%s\n' "$line" | sed 's/^cpt web/timeout 2 cpt web --port 0/') || [ \$? = 124 ]" ;;
        esac
        sh -c "$line" >out 2>err </dev/null || echo "$line: $? $(cat err)"
    done <lines
}
mkdir logs graphs trees spans both other
make_log experiment >logs/a.cptlog
make_log few >logs/b.cptlog
make_log services >services.cptlog
for service in A B C; do
    make_graphs $service 8 >graphs/$service.cptgraph
done
cp logs/a.cptlog graphs/A.cptgraph both
cpt aggregate --where arm=control -o trees/a.cpttree logs/a.cptlog
cpt aggregate --where arm=treatment -o trees/b.cpttree logs/a.cptlog
cpt logs/a.cptlog
for file in logs services.cptlog graphs graphs/A.cptgraph graphs/B.cptgraph trees/a.cpttree trees both; do
    echo "-- $file"
    cpt $file | sed '/^next:/,$!d; /^      /d'
    next $file
done
echo '-- evidence'
make_log evidence >evidence.cptlog
cpt evidence.cptlog | sed '/^next/q'
cpt log --where forced --include-forced -o forced.cptlog evidence.cptlog
cpt forced.cptlog | sed -n '/^next/{n; p}'
next forced.cptlog
echo '-- a large log: the heads of all blocks, and the records of three parts'
cp logs/a.cptlog large.cptlog
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    cat large.cptlog large.cptlog >larger.cptlog
    mv larger.cptlog large.cptlog
done
cpt large.cptlog >out
grep '^records' out | sed 's/ of [0-9]* of/ of … of/'
awk '/^records/ { exit !($7 > 100000 && $7 < 491520 * 3 / 4) }' out || cat out
cat graphs/A.cptgraph >many.cptgraph
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    cat many.cptgraph many.cptgraph >more.cptgraph
    mv more.cptgraph many.cptgraph
done
cpt many.cptgraph >out
grep -o '^records    at least' out
rm large.cptlog many.cptgraph
echo '-- names'
cp logs/a.cptlog report
cpt report
cpt ./report | head -1
cpt report ./report | head -1
for name in -dash "it's" 'a b' '$HOME' "$(printf 'a\033[2Jb\nc')" "$(printf 'x\377y.cptlog')" FILE; do
    cp logs/a.cptlog "./$name"
    cpt "./$name" | sed -n '1p; /^next/{n; p}'
    next "./$name"
done
echo '-- standard input, programs'
cpt - <logs/a.cptlog | head -3
cpt logs/a.cptlog --json | head -2
cpt FILE --help | head -3
cpt help FILE | head -1
cpt - a </dev/null
cpt logs/a.cptlog --nonsense
echo '-- what is none'
: >empty
echo hello >text
head -c 3000 logs/a.cptlog >cut.cptlog
head -c 900 graphs/A.cptgraph >cut.cptgraph
(cat logs/b.cptlog; echo damage; tail -c +45 logs/a.cptlog) >damaged.cptlog
cpt pprof -q -o p.pb.gz logs/a.cptlog
for file in empty text cut.cptlog cut.cptgraph damaged.cptlog other p.pb.gz none.cptlog ./none none clickhouse://h/db; do
    cpt $file | sed -n '1,3p' >out
    echo "$file: $(cpt $file >/dev/null 2>&1; echo $?)"
    cat out
done
