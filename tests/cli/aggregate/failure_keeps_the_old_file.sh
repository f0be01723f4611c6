# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the old file stays, and no other file is left
make_log services >a.cptlog
echo old >a.cpttree
cpt aggregate -o a.cpttree -w 'local_root in (true, false)' a.cptlog; echo $?
cat a.cpttree
ls
cpt aggregate -o missing/a.cpttree --entry A a.cptlog
