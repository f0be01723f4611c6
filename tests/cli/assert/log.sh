# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# rules on the frames of paths
make_log experiment >a.cptlog
cpt assert --top 2 'no span("C: *") under span("A: A1") and some span("A: /")' a.cptlog; echo "exit $?"
cpt assert --top 1 --json 'no span("B: *") directly under span("A: *")' a.cptlog; echo "exit $?"
mkdir logs; cp a.cptlog logs/1.cptlog; cp a.cptlog logs/2.cptlog
cpt assert 'every span("B: *") under span("A")' logs; echo "exit $?"
