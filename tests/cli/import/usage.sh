# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what it needs
cpt import spans.json; echo "exit $?"
cpt import --mode=crisp -o x.cptlog spans.json; echo "exit $?"
cpt import --mode=best --sections spans.json; echo "exit $?"
cpt import --sections -o - spans.json; echo "exit $?"
