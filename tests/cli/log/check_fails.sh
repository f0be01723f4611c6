# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a record that does not add up, and one outside its entry frame
make_log unsound >a.cptlog
cpt log --check a.cptlog
