# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# every record adds up
make_log experiment >a.cptlog
make_log few >b.cptlog
make_log empty >c.cptlog
cpt log --check a.cptlog b.cptlog c.cptlog
