# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --columns and --sort are about the tasks; CSV has them alone, other formats the groups, too
for service in A B C; do
    make_graphs $service 6 2 >$service.cptgraph
done
cpt busy --columns hidden_ns,name --sort name ./*.cptgraph 2>told
cpt busy --by arm --format markdown --columns value,name,interval --sort value ./*.cptgraph 2>>told
cpt busy --by arm --format csv ./*.cptgraph 2>>told | tr -d '\r' | head -3
cpt busy --format csv --columns name,value ./*.cptgraph 2>>told | tr -d '\r' | head -2
cpt busy --json --columns name --sort blocking_ns ./*.cptgraph 2>>told | head -6
cpt busy --columns latency_ns ./*.cptgraph
