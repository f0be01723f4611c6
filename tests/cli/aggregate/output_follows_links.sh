# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a link stays a link; permissions are those of a new file
make_log few >a.cptlog
umask 027
mkdir day
: >day/a.cpttree
ln -s day/a.cpttree link
cpt aggregate -o link a.cptlog
ls -l link day/a.cpttree | cut -c1-10
cpt report day/a.cpttree | head -1
