# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# three tables; sizes that cannot be tried are only predicted
make_log experiment >a.cptlog
cpt precision --requests 10,50,1000 --above 0.1ms,1ms --by name --top 3 a.cptlog
