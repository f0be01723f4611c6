# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the columns of experiment: chosen, sorted, and as CSV
make_log delays >a.cptlog
cpt experiment --columns sensitivity,delayed_requests,frame --sort frame a.cptlog 2>/dev/null
cpt experiment --format csv --columns frame,kind,delta_ns,sensitivity,agrees a.cptlog 2>/dev/null | tr -d '\r'
cpt experiment --format csv a.cptlog 2>/dev/null | tr -d '\r' | head -1
cpt experiment --format markdown a.cptlog 2>/dev/null | head -4
cpt experiment --json --columns frame,doubt --sort plain_requests a.cptlog 2>/dev/null | tail -3
cpt experiment --sort bar a.cptlog
cpt experiment --plan --format json a.cptlog
cpt experiment --write conf --sort frame
