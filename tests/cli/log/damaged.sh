# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a damaged block is reported, counted and skipped
make_log damaged >a.cptlog
cpt log --check a.cptlog
echo $?
cpt log --json a.cptlog 2>/dev/null | wc -l
