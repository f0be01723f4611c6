# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a truncated tree is refused
make_log few >a.cptlog
cpt aggregate -o a.cpttree a.cptlog
head -c 200 a.cpttree >b.cpttree
cpt report b.cpttree 2>message; echo $?
sed "s/byte [0-9]*: .*/byte N: …/" message
