# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a tree of stacks is drawn; once it is sorted, each row has its whole stack
make_log experiment >a.cptlog
cpt report --sort self_ns a.cptlog | head -6
cpt report --sort present_mean_ns --max-bytes 700 a.cptlog | tail -3
cpt report --columns stack,p99.9_ns,p50_ns --quantiles 50%,99.9% a.cptlog | sed -n 3,6p
cpt report --by service --format markdown a.cptlog
cpt report --format csv a.cptlog | tr -d '\r' | head -3
cpt report --format csv --quantiles 10% --columns stack,kind,p10_ns,trusted a.cptlog | tr -d '\r' | head -3
cpt report --json --columns stack,trusted,kind,gain --sort min_ns a.cptlog | sed -n '2,4p;$p'
cpt report --columns gain a.cptlog
cpt report --columns p10_ns a.cptlog
cpt report --html page.html --columns stack a.cptlog; test -e page.html; echo "exit $?"
