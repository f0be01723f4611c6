# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --columns and --sort are about the rows; CSV has them alone
make_log experiment >a.cptlog
cpt precision --columns mean_ns,predicted,stack --sort mean_ns --top 3 a.cptlog | tail -4
cpt precision --by name --format csv --top 2 a.cptlog | tr -d '\r'
cpt precision --format markdown --top 1 --requests 50 --above 1ms a.cptlog | tail -n +4
cpt precision --json --columns kind,mean_ns --top 1 a.cptlog | tail -2
