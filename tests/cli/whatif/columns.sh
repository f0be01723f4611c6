# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --columns and --sort are about the frames: those of an answer, or those of a sweep
for service in A B C; do
    make_graphs $service 6 >$service.cptgraph
done
cpt whatif --set 'B: B2=0' --columns name,after_ns --sort name ./*.cptgraph
cpt whatif --set 'B: B2=0' --format markdown --columns change_ns,name ./*.cptgraph
cpt whatif --set 'B: B2=0' --format csv ./*.cptgraph | tr -d '\r'
cpt whatif --sweep 10ms --format csv --columns name,path_ns --sort path_ns ./*.cptgraph | tr -d '\r'
cpt whatif --sweep 10ms --json --columns p99_gain_ns,name ./*.cptgraph | tail -4
cpt whatif --sweep 10ms --columns after_ns ./*.cptgraph
