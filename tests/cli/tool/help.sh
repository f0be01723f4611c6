# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# help of the tool, on standard output
cpt --help
echo "exit $?"
