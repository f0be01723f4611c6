# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# which kept requests count: of graph logs by what their records say, of spans by their roots
. "$(dirname "$0")/../spans.sh"
for service in A B C; do
    make_graphs $service 6 2 >$service.cptgraph
done
for option in --where=arm=control '--where=latency > 13ms' '--where=not failed and random' --entry=A --entry=B \
    --include-forced --where=forced --since=2026-11-21T06:00:02Z --where=amr=control \
    '--where=latency > p50' '--where=path("B: B2") > 3ms'; do
    echo "$option:"
    cpt slack "$option" ./*.cptgraph 2>told | head -1
    cat told
done
echo "one of them:"
cpt slack --trace 36fbefaa6fb125e3 --where arm=treatment ./*.cptgraph | head -1
cpt slack --trace 36fbefaa6fb125e3 --where arm=control ./*.cptgraph 2>&1
cpt slack --json --where arm=control ./*.cptgraph 2>/dev/null | tr , '\n' | grep -E '"(requests|not_selected)"' | head -2
echo "spans:"
span 1 1 '' 0 14000000 "request entry=A:%20%2f latency=14000000 by=$(id 2)" >notes.json
span 1 2 "$(id 1)" 0 14000000 "task name=A:%20A1 start=0 end=14000000" >>notes.json
span 2 1 '' 0 3000000 "request entry=A:%20%2f latency=3000000 by=$(id 2)" >>notes.json
span 2 2 "$(id 1)" 0 3000000 "task name=A:%20A1 start=0 end=3000000" >>notes.json
cpt slack --where 'latency > 10ms' notes.json | head -1
cpt slack --where 'method == "op"' notes.json | head -1
cpt slack --where arm=B notes.json
