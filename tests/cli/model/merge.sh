# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# any order and any parts give the same bytes; damage is refused with its place
. "$(dirname "$0")/rows.sh"
{
    requests a 30 'web GET' 'a one two' 'b three' 'c four'
    requests b 20 'web GET' 'a one' 'c four' 'b three'
    requests c 5 'web PUT' 'b three three three'
} >rows
{ head; cat rows; } >all.csv
cpt model learn all.csv -o all.cptmodel
for n in 1 2 3; do
    { head; awk -F, "{ split(\$1, at, \"\"); if (substr(\$1, 2) % 3 == $n - 1) print }" rows | sort -r; } >$n.csv
    cpt model learn $n.csv -o $n.cptmodel
done
cpt model merge 3.cptmodel 1.cptmodel 2.cptmodel | cmp - all.cptmodel
cpt model merge 1.cptmodel 2.cptmodel -o two.cptmodel
cpt model merge 3.cptmodel two.cptmodel -o - | cmp - all.cptmodel
cpt model learn 2.csv 3.csv 1.csv | cmp - all.cptmodel
gzip <all.csv >all.csv.gz
cpt model learn all.csv.gz | cmp - all.cptmodel
cpt model learn - <all.csv | cmp - all.cptmodel
cpt model show --json - <all.cptmodel >one
cpt model show --json all.csv | cmp - one
command head -c 100 all.cptmodel >cut.cptmodel
cpt model merge cut.cptmodel -o none
cpt model merge all.csv -o none
{ command head -c 60 all.cptmodel; printf 'x'; tail -c +62 all.cptmodel; } >bad.cptmodel
cpt model show bad.cptmodel
[ ! -e none ] || echo it was written
