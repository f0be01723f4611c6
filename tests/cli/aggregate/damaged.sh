# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# undamaged records are used, and the exit status reports the damage
make_log damaged >a.cptlog
cpt aggregate -o a.cpttree a.cptlog; echo $?
cpt report a.cpttree | head -2
cpt aggregate --stop-at-error -o b.cpttree a.cptlog 2>/dev/null; echo $?
ls
