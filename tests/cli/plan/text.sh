# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the requests that a slice needs, also from a tree
make_log experiment >a.cptlog
cpt plan --where region=eu --where arm=control a.cptlog
cpt plan --where region=eu --within 0.5ms --confidence 99% --power 0.9 --share 1% \
    --probability 0.001 --rate 2000 a.cptlog
cpt aggregate -w region=eu -o a.cpttree a.cptlog
cpt plan --within 0.5ms --json a.cpttree
cpt plan --within 0.5ms --json -w region=eu a.cptlog
