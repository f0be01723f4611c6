# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# by learnt order, a line that only happens to come before another one does not cause it
. "$(dirname "$0")/rows.sh"
{
    head
    requests a 15 'web GET' 'z in' 'a one' 'b two' 'web SENT'
    requests b 15 'web GET' 'z in' 'b two' 'a one' 'web SENT'
} >lines.csv
for method in time hb; do
    cpt import --events --method $method lines.csv -o $method.cptlog 2>none
    cpt log --json $method.cptlog | sed 's/.*cpt.evidence":"\([a-z]*\)".*/\1/' | sort | uniq -c
    cpt report $method.cptlog
    echo
done
cpt import --events --method none lines.csv -o none.cptlog
cpt import --method hb lines.csv -o none.cptlog
