# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# services whose executors have the same name: each has its own workers
for service in A B C; do
    make_graphs $service 6 >$service.cptgraph
done
# B and C work at the same time, each with one worker
for term in workers=1 B=1 'C: workers=1'; do
    echo "$term:"
    cpt whatif --workers "$term" ./*.cptgraph | head -4
done
echo 'wrong:'
for term in D=1 'C: worker=1' connections=1; do
    cpt whatif --workers "$term" ./*.cptgraph
    echo "exit $?"
done
