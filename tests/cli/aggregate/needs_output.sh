# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a tree is not written to a terminal
make_log few >a.cptlog
cpt aggregate a.cptlog; echo $?
cpt aggregate -o - a.cptlog | cpt report - | head -1
