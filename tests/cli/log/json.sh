# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# one object on a line for each record
make_log few >a.cptlog
cpt log --json a.cptlog
