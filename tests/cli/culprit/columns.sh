# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --columns and --sort are about the suspects; CSV has them alone
make_log experiment >a.cptlog
two='--base arm=control --new arm=treatment'
cpt culprit --by name $two a.cptlog --columns p,new_calls,service --sort service | tail -n +4
cpt culprit $two a.cptlog --format markdown --columns factor,service | tail -n +4
cpt culprit --by name $two a.cptlog --format csv | tr -d '\r'
cpt culprit --by name --json $two a.cptlog --columns service --sort new_calls | tail -5
cpt culprit $two a.cptlog --columns first --sort first
