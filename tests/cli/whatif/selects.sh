# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# which requests of graph logs count: those of an entry service, by chance or by force
for service in A B C; do
    make_graphs $service 6 2 >$service.cptgraph
done
for option in --entry=A --entry=B --include-forced --where=forced '--where=not forced' --where=arm=control; do
    echo "$option:"
    cpt whatif "$option" ./*.cptgraph | head -3
done
cpt slack ./*.cptgraph | head -1
cpt busy ./*.cptgraph | head -2
# the one that is asked for
cpt slack --trace 36fbefaa6fb125e3 ./*.cptgraph | head -1
for service in A B C; do # one request of the treatment is like 5 others
    make_graphs $service 6 0 0.05 >$service.cptgraph
done
cpt whatif --set 'B: B2=-4ms' ./*.cptgraph | head -4
cpt slack ./*.cptgraph | head -1
# only three requests are slower than p50, so it has no interval
for service in A B C; do
    make_graphs $service 12 0 0.0001 >$service.cptgraph
done
cpt whatif --set 'B: B2=-1ms' ./*.cptgraph | sed -n 2,4p
cpt whatif --where amr!=B ./*.cptgraph; echo "exit $?"
