# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --columns and --sort are about the pairs; CSV has them alone
make_log contended_ids >a.cptlog
cpt contention --columns requests,queue_length,victim --sort victim a.cptlog | sed -n '/victim$/,$p'
cpt contention --format csv a.cptlog | tr -d '\r'
cpt contention --by tenant --requests --format markdown --columns wait,victim a.cptlog
cpt contention --json --columns culprit,victim --sort queue_length a.cptlog | tail -5
cpt contention --columns none a.cptlog
