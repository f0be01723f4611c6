# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# mistakes have a place, and a name that no span has is told
make_log experiment >a.cptlog
for rule in '' 'no spann("x")' 'no span(x)' 'at most span("x")' 'every span("x")' \
    'no span("x") or no span("y")' 'span("x") after span("y")'; do
    cpt assert "$rule" a.cptlog; echo "exit $?"
done
cpt assert 'no span("x")'; echo "exit $?"
cpt assert 'no span("x")' missing; echo "exit $?"
: >empty; cpt assert 'no span("x")' empty; echo "exit $?"
cpt aggregate -o a.cpttree a.cptlog; cpt assert 'no span("x")' a.cpttree; echo "exit $?"
cpt assert 'no span("B: B3") under span("A: A3")' a.cptlog; echo "exit $?"
