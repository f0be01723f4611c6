# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# columns, order, Markdown, CSV; a limit of bytes
make_log natural >a.cptlog
cpt natural a.cptlog --when cache=hit --columns stack,delta_ns,q --sort base_ns --max-q 1 | tail -n 10
cpt natural a.cptlog --when cache=hit --format markdown --by service --max-q 1
cpt natural a.cptlog --when cache=hit --format csv --columns stack,delta_ns
cpt natural a.cptlog --when cache=hit --by service --max-q 0.01 | tail -n 6
cpt natural a.cptlog --when cache=hit --json --max-bytes 1500 | tail -n 1
# the same log gives the same answer; another seed changes p alone
cpt natural a.cptlog --when region=us --json >one
cpt natural a.cptlog --when region=us --json | cmp - one
p()
{
    sed 's/"p_value":[^,]*//; s/"sample":[^]]*//'
}
cpt natural a.cptlog --when region=us --json --seed 2 | p >two
p <one | cmp - two
