# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# mistakes on the command line, and lines that are none
. "$(dirname "$0")/rows.sh"
cpt model
cpt model lern a.csv
cpt model learn
cpt model show a b
cpt model show --why a b
cpt model diff a
cpt model diff --violations 70% a b
cpt model learn --json a.csv
cpt model learn none.csv
echo hello >text
cpt model learn text
head >empty.csv
cpt model learn empty.csv -o m
cpt model diff empty.csv empty.csv
[ ! -e m ] || echo it was written
