# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the logs of a depot: chosen columns, sorted, as CSV
mkdir depot
make_log drags >depot/a.cptlog
make_log experiment >depot/b.cptlog
cpt depot list depot --columns records,has_ids,file --sort records
cpt depot list depot --format csv | tr -d '\r'
cpt depot list depot --json --columns file --sort records
cpt depot list depot --sort from
cpt depot get depot --format csv 1; echo "exit $?"
