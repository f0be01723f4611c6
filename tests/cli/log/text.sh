# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# records with their paths as trees
make_log few >a.cptlog
cpt log --paths a.cptlog
