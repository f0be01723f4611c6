# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the graph logs of three services are joined; a service without a log is a block of
# constant length; what does not fit is left out and told
for service in A B C; do make_graphs $service >$service.cptgraph; done
cpt slack C.cptgraph A.cptgraph B.cptgraph
echo "a folder:"
mkdir logs && cp ./*.cptgraph logs && cpt slack logs >folder && cpt slack ./*.cptgraph | cmp - folder
echo "one request:"
cpt slack --json --trace daa66d2c7ddf743f A.cptgraph B.cptgraph C.cptgraph | head -3
echo "without B:"
cpt slack A.cptgraph C.cptgraph
echo "without A:"
cpt slack B.cptgraph C.cptgraph; echo "exit $?"
echo "B twice, by three names:"
mkdir more && ln B.cptgraph more/linked.cptgraph
cpt slack A.cptgraph B.cptgraph B.cptgraph more C.cptgraph | head -1
echo "a copy of B:"
cp B.cptgraph copy.cptgraph
cpt slack A.cptgraph B.cptgraph copy.cptgraph C.cptgraph | cmp - folder && echo same
echo "others with the ids of B:"
make_graphs B 20 20 >again.cptgraph
cpt slack A.cptgraph B.cptgraph again.cptgraph C.cptgraph | head -1
echo "torn:"
head -c 2000 B.cptgraph >torn.cptgraph
cpt slack A.cptgraph torn.cptgraph C.cptgraph | head -1
