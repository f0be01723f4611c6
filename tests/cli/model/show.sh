# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the classes and relations of a model, and who is against one
. "$(dirname "$0")/rows.sh"
{
    head
    requests a 30 'web GET' 'a one two' 'b three' 'c four'
    requests b 2 'web GET' 'a one' 'c four' 'b three'
    request z 99000000 'web GET' 'a one one one' 'b three' 'c four'
} >lines.csv
cpt model learn lines.csv -o m.cptmodel
cpt model show m.cptmodel
echo
cpt model show --why three 'c: four' m.cptmodel
echo
cpt model show --violations 0 --why three 'c: four' m.cptmodel
echo
cpt model show --json --why 'a: one#3' three m.cptmodel
cpt model show --why thre four m.cptmodel
cpt model show --why one two m.cptmodel
cpt model curve lines.csv
