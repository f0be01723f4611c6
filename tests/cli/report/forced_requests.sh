# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# they are excluded by default
make_log experiment >a.cptlog
cpt report a.cptlog | head -2
cpt report --include-forced a.cptlog | head -2
cpt report --include-forced --where random=true a.cptlog | head -2
cpt report --where forced=true a.cptlog
