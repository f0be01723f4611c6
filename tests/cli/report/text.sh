# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the average critical path
make_log experiment >a.cptlog
cpt report --where arm=control a.cptlog
