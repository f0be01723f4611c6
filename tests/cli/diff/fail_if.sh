# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# 3 if a condition holds, 0 if none does, 1 if it cannot be tested, 2 if it is malformed
make_log experiment >a.cptlog
try()
{
    cpt diff a.cptlog --base arm=control --new arm=treatment --fail-if "$@" >out
    echo $?
}
try 'service("B") > +5% at q<0.01'
try 'service("B") > 4ms'
try 'service("B") > 40 ms'
try 'service("B") < -1ms'
try 'name("B: B2") > 4000us at q < 1e-300'
try 'name("B: B2") > 4000us at q < 0.5' --fail-if 'total < 0%'
try "edge('A -> B') > 0.001s"
try 'stack("A: /;A: A1;B: B1;B: B2") > 50%' --json
grep -o '"conditions":[^]]*]' out
try 'total > +10% at q<0.01'
try 'service("D") > 1ms'
for wrong in '' 'B > 5%' 'service(B) > 5%' 'service("B) > 5%' 'service("B") 5%' \
    'service("B") > x' 'service("B") > 5' 'total > 5% at q<2' 'total > 5% with q<1' \
    'total > 5% at q<0.1 x' 'totals > 5%' 'total > infms' 'total > 1..2ms'; do
    try "$wrong"
done
