# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --columns, --sort and CSV of the other tables of report: their relations
make_log drags >a.cptlog
make_log contended >b.cptlog
cpt report --group-by method --columns value,p50_ns --sort p50_ns b.cptlog | tail -n +4
cpt report --group-by status --format csv b.cptlog | tr -d '\r'
make_log experiment >c.cptlog
cpt report --blind-spots --columns reason,mean_ns,share --sort share c.cptlog | tail -n +5
cpt report --blind-spots --format csv c.cptlog | tr -d '\r'
cpt report --drag --columns path_ns,stack --sort path_ns --max-bytes 450 a.cptlog | tail -n +6
cpt report --drag --format csv a.cptlog | tr -d '\r' | head -3
cpt report --drag --json --columns stack,path_high_ns a.cptlog | tail -2
cpt report --drag --columns gain a.cptlog
