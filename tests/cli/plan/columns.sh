# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the goals of a plan: chosen columns, sorted, as CSV
make_log experiment >a.cptlog
cpt plan --columns traced_requests,goal --sort traced_requests a.cptlog | tail -3
cpt plan --rate 100 --format csv a.cptlog | tr -d '\r'
cpt plan --format markdown a.cptlog | tail -5
