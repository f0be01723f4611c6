# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# why requests failed: in groups, as a selection, in a record, as JSON
make_log failures >failures.cptlog
cpt report --group-by failure failures.cptlog
cpt report --group-by failure --json --where failed failures.cptlog
cpt report --where 'failure == "callee"' failures.cptlog | head -3
cpt show --where failure=callee failures.cptlog | head -3
cpt log --where failure=deadline failures.cptlog | head -2
cpt log --json --where failure=deadline failures.cptlog | head -1 | grep -o '"meta":{[^}]*}'
cpt report --group-by failure --cluster user failures.cptlog
echo "exit $?"
cpt report --group-by '' failures.cptlog
cpt aggregate -o a.cpttree failures.cptlog
cpt report --group-by failure a.cpttree
