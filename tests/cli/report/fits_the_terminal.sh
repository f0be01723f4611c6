# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# frames are cut to the width
make_log experiment >a.cptlog
COLUMNS=78 cpt report a.cptlog | tail -n +4
