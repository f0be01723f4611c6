# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# one object a record and line
make_log few >a.cptlog
cpt log --json a.cptlog
