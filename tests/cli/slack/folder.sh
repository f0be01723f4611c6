# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a folder stands for its graph logs, whatever else is there; without any for its spans
. "$(dirname "$0")/../spans.sh"
mkdir all service spans none
make_graphs A >all/A.cptgraph
make_graphs B >all/B.cptgraph
make_log few >all/paths.cptlog
echo '{"Demo": []}' >all/truth.json
span 1 1 '' 1 1000001 'request entry=A:%20%2f latency=1000000 by=0000000000000002' >spans/spans.json
span 1 2 "$(id 1)" 1 1000001 'task name=A:%20A1 start=0 end=1000000' >>spans/spans.json
cp spans/spans.json all
printf '\037\213\010not read' | tee spans/profile.pb.gz >all/profile.pb.gz
cp spans/profile.pb.gz none
# what services write: each command takes its kind, and says nothing of the other
cp all/?.cptgraph service
cpt report service 2>&1
cp all/paths.cptlog service
cpt report --keep-duplicates service 2>&1 | head -1
for command in slack busy whatif; do
    for folder in all service spans none; do
        echo "$command $folder:"
        cpt $command $folder 2>&1 | head -4
    done
done
