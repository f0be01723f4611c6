# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# after a single '=' all is value; who meant an expression is told when nothing is found
make_log experiment >a.cptlog
cpt report --where 'arm=control and region == "eu"' a.cptlog; echo $?
