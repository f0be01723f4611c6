# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the quantiles of --quantiles, with their intervals and the bound of their error
make_log experiment >a.cptlog
cpt report --quantiles 10%,90%,99.9%,100% a.cptlog | tail -n +4 | head -n 4
cpt report --quantiles 10%,50%,99%,100% a.cptlog | tail -n 8
cpt report --quantiles 10%,90% a.cptlog | tail -n 5
cpt report --json --quantiles 50%,99%,100% a.cptlog | sed -n 5p
for wrong in 0.5 101% 0% 1%,2%,3%,4%,5%,6%,7%,8%,9%,10%,11% x; do
    cpt report --quantiles "$wrong" a.cptlog; echo $?
done
