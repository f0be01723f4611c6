# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# one object, the largest difference first
make_log experiment >a.cptlog
cpt diff --json --top 2 a.cptlog --base arm=control,region=eu --new arm=treatment,region=eu
