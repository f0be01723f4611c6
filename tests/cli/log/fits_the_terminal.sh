# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# lines are cut to the width, with an ellipsis
make_log few >a.cptlog
COLUMNS=40 cpt log --paths a.cptlog | head -12
