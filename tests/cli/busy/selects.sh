# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the same requests count as in cpt slack and cpt whatif
for service in A B C; do
    make_graphs $service 6 2 >$service.cptgraph
done
for option in --where=arm=control '--where=latency > 13ms' --entry=B --include-forced '--where=latency > p50'; do
    echo "$option:"
    cpt busy "$option" ./*.cptgraph 2>told | head -2
    cat told
done
cpt busy --trace 36fbefaa6fb125e3 ./*.cptgraph | head -2
cpt busy --json --where arm=control ./*.cptgraph 2>/dev/null | tr , '\n' | grep -E '"(requests|not_selected)"' | head -2
for option in --by=arm --by=amr --by=region --where=amr=B; do
    echo "$option:"
    cpt busy $option ./*.cptgraph 2>told | head -3
    tail -1 told
done
