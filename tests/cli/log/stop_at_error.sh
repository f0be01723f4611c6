# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# nothing is printed after the first damage
make_log damaged >a.cptlog
cpt log --json --stop-at-error a.cptlog >lines; echo $?
cpt log --json a.cptlog 2>/dev/null >all; echo $?
test "$(wc -l <lines)" -lt "$(wc -l <all)" && echo fewer
echo "== logs behind the damaged one are not read"
make_log few >e.cptlog
cpt log --json --stop-at-error a.cptlog e.cptlog 2>/dev/null | cmp - lines && echo same
