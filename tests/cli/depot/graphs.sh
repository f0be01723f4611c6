# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# graph logs in a depot: listed, counted and dropped as path logs are; other verbs pass
# them over
mkdir depot only
make_log experiment >depot/b.cptlog
make_graphs A >depot/A.cptgraph
make_graphs A >only/A.cptgraph
echo "-- list"
cpt depot list depot
cpt depot list --json depot | sed 's/"bytes":[0-9]*/"bytes":N/'
cpt depot list only
echo "-- get, report"
cpt depot get --json depot 30313233343536373839616263646566 | wc -l
cpt report depot | head -1
cpt depot get only 30313233343536373839616263646566; echo "exit $?"
echo "-- add"
cpt depot add depot only/A.cptgraph; echo "exit $?"
echo "-- drop"
cpt depot drop --dry-run --keep 0 depot
cpt depot drop --before 2000-01-01T00:00:00Z depot
size=$(wc -c <depot/b.cptlog)
cpt depot drop --keep "$size" depot
ls -A depot only
cpt depot drop --before 2100-01-01T00:00:00Z only
ls -A only
