# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the slowed component is first
make_log experiment >a.cptlog
cpt diff a.cptlog --base arm=control --new arm=treatment
