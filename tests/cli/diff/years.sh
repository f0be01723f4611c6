# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a request that is too long to be compared by name is named by its place in the log
make_log years >years.cptlog
make_log few >few.cptlog
cpt diff years.cptlog few.cptlog --top 1 | sed -n 1p
for by in service name edge; do
    cpt diff --by $by years.cptlog few.cptlog
    echo $?
done
