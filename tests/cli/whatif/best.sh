# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the best two are C: C1, which all wait for, and B: B1, on no path until C1 is shorter
for service in A B C; do
    make_graphs $service 8 >$service.cptgraph
done
cpt whatif --where arm=control --best 2 --sweep 100% ./*.cptgraph | head -6
cpt whatif --where arm=control --best 1 --sweep 100% ./*.cptgraph | head -5
