# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# after a single '=' all is value; if nothing is found, the message mentions expressions
make_log experiment >a.cptlog
cpt report --where 'arm=control and region == "eu"' a.cptlog; echo $?
