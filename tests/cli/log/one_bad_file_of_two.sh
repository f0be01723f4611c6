# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the other file is still printed
make_log few >a.cptlog
cpt log --check missing.cptlog a.cptlog
