# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a graph log is checked: whole, damaged, torn, from a pipe
make_graphs A 500 >a.cptgraph
cpt log --check a.cptgraph
cpt log --check - <a.cptgraph
{
    head -c 100 a.cptgraph
    printf damage
    tail -c +107 a.cptgraph
} >b.cptgraph
cpt log --check b.cptgraph; echo "exit $?"
head -c 50000 a.cptgraph >c.cptgraph
cpt log --check c.cptgraph; echo "exit $?"
