# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a line for each stack, adding up to the mean latency
make_log experiment >a.cptlog
cpt folded --where arm=control a.cptlog
cpt folded -o a.folded --where arm=control a.cptlog
awk '{ sum += $NF } END { print sum }' a.folded
cpt report --where arm=control a.cptlog | head -1
