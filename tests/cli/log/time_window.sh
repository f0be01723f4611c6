# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# since is inclusive, until is not; zones, fractions and seconds since 1970
make_log experiment >a.cptlog
count() { cpt log --json "$@" a.cptlog | wc -l; }
count --since 2026-11-21T06:00:10Z
count --until 2026-11-21T06:00:10Z
count --since 2026-11-21T06:00:10Z --until 2026-11-21T06:00:20Z
count --since 2026-11-21T07:00:10+01:00 --until 2026-11-21T05:00:10.5-01:00
count --since 2026-11-21 --until 2026-11-22
count --since @1795240860
cpt log --since yesterday a.cptlog; echo $?
cpt log --since 15 a.cptlog; echo $?
cpt log --since 2026-06-31 a.cptlog
