# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# an index changes what is read, but neither the report nor the counts
make_log indexed >a.cptlog
make_log experiment >b.cptlog
for options in '--since 2026-11-21T06:01:30Z' '--until 2026-11-21T06:00:10Z' '--entry A' \
    '--where arm=treatment --until 2026-11-21T06:00:30Z'; do
    cp a.cptlog x.cptlog
    cpt report --json $options x.cptlog >with
    cp b.cptlog x.cptlog
    cpt report --json $options x.cptlog >without
    cmp with without && grep -o '"records":[0-9]*' with
done
cpt report --entry B a.cptlog; echo $?
make_log indexed_damaged >c.cptlog
cpt report --since 2026-11-21T06:01:30Z c.cptlog | head -1
cpt diff c.cptlog --base arm=control --new arm=treatment --since 2026-11-21T06:01:30Z | head -1
