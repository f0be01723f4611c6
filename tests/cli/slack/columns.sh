# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the columns of a table: which of them, in which order, in which format
make_graphs A >A.cptgraph
make_graphs B >B.cptgraph
echo "two columns, by the third:"
cpt slack --columns name,gain_ns --sort path_ns A.cptgraph B.cptgraph 2>&1
echo "csv:"
cpt slack --format csv A.cptgraph B.cptgraph | tr -d '\r' | head -3
cpt slack --format csv --columns kind,name --sort name A.cptgraph B.cptgraph | tail -1 | od -c | tail -3 | head -1 | grep -c '\\r'
echo "markdown:"
cpt slack --format markdown --columns gain_ns,name A.cptgraph B.cptgraph | head -4
echo "json:"
cpt slack --json --columns name,slack_is_least A.cptgraph B.cptgraph | tail -3
cpt slack --format json --columns name A.cptgraph B.cptgraph | tail -1
for wrong in '--columns none' '--columns ,' '--sort gain_interval' '--sort none' '--format xml'; do
    cpt slack $wrong A.cptgraph; echo "exit $?"
done
