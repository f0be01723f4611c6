# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# one object with all nodes as rows
make_log experiment >a.cptlog
cpt report --json --where arm=control a.cptlog
