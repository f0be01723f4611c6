# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a key too many is a mistake on the command line of each command that takes spans
echo '{"data": []}' >none.json
keys=
for key in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do keys="$keys --attribute k$key"; done
cpt import $keys -o out none.json; echo $?
cpt report $keys none.json; echo $?
cpt culprit $keys none.json none.json; echo $?
cpt import --attribute trace -o out.cptlog spans.json; echo "exit $?"
