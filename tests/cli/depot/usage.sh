# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what it needs
mkdir depot; make_log experiment >depot/a.cptlog
cpt depot; echo "exit $?"
cpt depot find depot; echo "exit $?"
cpt depot get depot; echo "exit $?"
cpt depot add new; echo "exit $?"
cpt depot add new missing; echo "exit $?"; ls -A new
cpt depot drop depot; echo "exit $?"
cpt depot drop --before yesterday depot; echo "exit $?"
cpt depot drop --keep 5X depot; echo "exit $?"
cpt depot get missing 1; echo "exit $?"
