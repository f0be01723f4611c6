# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# logs of paths and of graphs, each in the place of the other
make_log experiment >paths.cptlog
make_graphs A 3 >graphs.cptgraph
cpt slack paths.cptlog; echo "exit $?"
for command in report log show assert; do
    case $command in
    assert) cpt assert 'some span("A: A1")' graphs.cptgraph ;;
    *) cpt $command graphs.cptgraph ;;
    esac
    echo "$command: exit $?"
done
# a request may have spans, too
. "$(dirname "$0")/../spans.sh"
span 1 1 '' 1 1000001 'request entry=A:%20%2f latency=1000000 by=0000000000000002' >spans.json
span 1 2 "$(id 1)" 1 1000001 'task name=A:%20A1 start=0 end=1000000' >>spans.json
cpt slack spans.json graphs.cptgraph | head -1
cat graphs.cptgraph | cpt slack -
echo "exit $?"
