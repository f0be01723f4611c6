# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# several threads read one large log in pieces: the same tree, and the same messages about
# damage
make_log experiment >one.cptlog
: >all.cptlog
for i in 1 2 3; do # 2.4 MB
    cat one.cptlog one.cptlog one.cptlog one.cptlog >>all.cptlog
    cp all.cptlog one.cptlog
done
pieces()
{
    for jobs in 1 2 7; do
        cpt aggregate --keep-duplicates -j $jobs -o $jobs.cpttree "$@" 2>$jobs.said
        echo $?
    done
    cmp 1.cpttree 2.cpttree && cmp 1.cpttree 7.cpttree &&
        cmp 1.said 2.said && cmp 1.said 7.said && echo same
}
pieces all.cptlog
cat 1.said
make_log unsound >unsound.cptlog
cat all.cptlog unsound.cptlog all.cptlog >damaged.cptlog
head -c 2400000 all.cptlog >truncated.cptlog
pieces damaged.cptlog
pieces truncated.cptlog
pieces truncated.cptlog damaged.cptlog all.cptlog
pieces -w arm=treatment all.cptlog
pieces -w 'arm=treatment and latency > p90' all.cptlog
# a pipe is read by one thread
by_service()
{
    cpt diff --keep-duplicates --json --by service ../truncated.cptlog all.cptlog 2>none
    echo $?
}
edges()
{
    cpt pprof --keep-duplicates --view edge -o edges.pb.gz all.cptlog && gzip -dc edges.pb.gz
}
mkdir file pipe
ln -s ../all.cptlog file/all.cptlog
mkfifo pipe/all.cptlog
for view in by_service edges; do
    (cd file && $view) >threads
    cat all.cptlog >pipe/all.cptlog &
    (cd pipe && $view) >one
    wait
    cmp threads one && echo same
done
cpt aggregate --keep-duplicates --stop-at-error -j 2 -o stopped.cpttree damaged.cptlog 2>said
echo $?
[ -e stopped.cpttree ] || echo none
