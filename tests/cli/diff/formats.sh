# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# Markdown, and JSON by either name
make_log experiment >a.cptlog
cpt diff --format markdown --top 2 a.cptlog --base arm=control --new arm=treatment
cpt diff --format json a.cptlog --base arm=control --new arm=treatment >1.json
cpt diff --json a.cptlog --base arm=control --new arm=treatment >2.json
cmp 1.json 2.json && echo same
make_log hostile >h.cptlog
cpt diff --format markdown h.cptlog h.cptlog | grep '^|' | grep -c '[^\\]`' || true
