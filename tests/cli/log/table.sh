# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a row for each record, whose number cpt show takes; cut in the middle to the terminal
make_log few >a.cptlog
make_log hostile >b.cptlog
make_log markup >c.cptlog
cpt log a.cptlog b.cptlog c.cptlog
cpt show --record 3 a.cptlog | head -1
cpt log --where 'items >= 2' a.cptlog
cpt log --where 'latency > 1s' a.cptlog
echo '-- of a narrow terminal'
COLUMNS=70 cpt log a.cptlog b.cptlog c.cptlog
cpt log --paths --json a.cptlog; echo $?
