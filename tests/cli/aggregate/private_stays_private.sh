# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a file that only its owner may read stays private when it is replaced
make_log experiment >a.cptlog
umask 022
cpt aggregate -o new.cpttree a.cptlog
touch private.cpttree
chmod 600 private.cpttree
cpt aggregate -o private.cpttree a.cptlog
stat -c '%a %n' new.cpttree private.cpttree
