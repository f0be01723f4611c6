# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the slack of a frame, from graph logs
for service in A B C; do make_graphs $service >$service.cptgraph; done
cpt slack A.cptgraph B.cptgraph C.cptgraph --columns slack_ns,requests,kind,name
cpt predict A.cptgraph B.cptgraph C.cptgraph --what slack --frame 'C: C1' --key arm --threshold 1.4ms
cpt predict A.cptgraph B.cptgraph C.cptgraph --what slack --frame nothing --key arm --threshold 1ms; echo $?
