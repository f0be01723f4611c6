# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# no byte of a name reaches the terminal as a command
make_log hostile >a.cptlog
cpt log --paths a.cptlog | cat -v
cpt log --json a.cptlog | cat -v
