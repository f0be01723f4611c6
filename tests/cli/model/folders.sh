# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a folder stands for the lines in it
. "$(dirname "$0")/rows.sh"
mkdir base new
{ head; requests a 9 'web GET' 'a one two' 'web SENT'; } >base/1.csv
{ head; requests b 9 'web GET' 'a one two' 'web SENT'; } >base/2.csv
{ head; requests c 9 'web GET' 'a one three' 'web SENT'; } >new/1.csv
cpt model learn base -o base.cptmodel
cpt model learn base/1.csv base/2.csv | cmp - base.cptmodel
cpt model diff base new
cpt model diff base.cptmodel new | tail -1
cpt model show --why GET one base | tail -1
