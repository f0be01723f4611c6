# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# too few and too many files
cpt report; echo $?
cpt diff a; echo $?
cpt diff a b c; echo $?
cpt metadata a b; echo $?
cpt report --help --json | head -1
