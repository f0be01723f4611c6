# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --columns, --sort by a column, and CSV; the orders of --sort stay
make_log experiment >a.cptlog
arms='a.cptlog --base arm=control --new arm=treatment'
cpt diff $arms --columns base_ns,delta_ns,stack --sort base_ns --max-q 1 | tail -n +5
cpt diff $arms --columns q,stack --sort name --max-q 1 --top 2 | sed -n 5,8p
cpt diff $arms --columns q,stack --sort base_ns --top 1 --by service | sed -n 5,7p
cpt diff $arms --format csv | tr -d '\r' | head -3
cpt diff $arms --json --columns stack,trusted,inclusive_delta_ns --top 1 | tail -2
cpt diff $arms --quantile p50 --format csv | tr -d '\r' | head -2
cpt diff $arms --quantile p50 --columns new_delta_ns,tails_gap,stack --top 1 | tail -3
cpt diff $arms --quantile p50 --json --columns kind --top 1 | tail -2
cpt diff $arms --sort margin
