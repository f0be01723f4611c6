# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the share of the latency of which there is no path, by service and reason
make_log experiment >experiment.cptlog
cpt report --blind-spots experiment.cptlog
cpt report --blind-spots --json experiment.cptlog
cpt report --blind-spots --group-by user experiment.cptlog
echo "exit $?"
cpt aggregate -o a.cpttree experiment.cptlog
cpt report --blind-spots a.cpttree
