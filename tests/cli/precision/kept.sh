# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a keep rule has left 100 slow requests and 40 of 2,000 others: the deviation is that of all
make_log kept >a.cptlog
cpt precision --requests 50 --above 1ms a.cptlog | tail -3
echo 'with equal weights:'
cpt precision --include-forced --requests 50 --above 1ms a.cptlog | tail -3
