# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# no line is wider than the terminal, in blocks or in ASCII
make_log experiment >a.cptlog
COLUMNS=60 cpt show --record 3 a.cptlog
COLUMNS=40 cpt show --record 3 --ascii a.cptlog
for columns in 40 41 57 80 100 133 240; do
    for record in 1 2 3 4; do
        COLUMNS=$columns cpt show --record $record a.cptlog | sed '1,/^$/d' >out
        width=$(LC_ALL=C.UTF-8 wc -L <out)
        test "$width" -eq $columns || echo "$columns: $width"
    done
done
