# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what changed: as sentences, as JSON, as CSV; the same by models and by lines
. "$(dirname "$0")/rows.sh"
{
    head
    requests a 40 'web GET#3' 'basic Impl#400 Impl#405 Impl#418' 'stock Find#7'
    requests b 20 'web PUT#9' 'basic Impl#400 Impl#500' 'stock Find#7 Keep#8'
} >base.csv
{
    head
    requests c 12 'web GET#3' 'basic Impl#400 Impl#405 Impl#415' 'stock Find#7'
    requests d 30 'web PUT#9' 'basic Impl#400 Impl#500' 'stock Find#7 Keep#8'
} >new.csv
cpt model learn base.csv -o base.cptmodel
cpt model diff base.cptmodel new.csv
echo
cpt model diff --json base.csv new.csv | tee by_lines
cpt model diff --json base.cptmodel new.csv | cmp - by_lines
cpt model diff --json --seed 2 base.cptmodel new.csv | cmp - by_lines
cpt model diff --format csv --columns service,after,was,now,p base.csv new.csv
echo
cpt model diff base.csv base.csv
