# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# two traced requests that overlap: which one waited for which
make_log contended >contended.cptlog
cpt contention --requests contended.cptlog | tail -4
cpt contention --requests --json contended.cptlog | grep -A4 '"overlaps"'
