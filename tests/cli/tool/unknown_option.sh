# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a mistyped option is recognised
cpt report --jsn x; echo $?
cpt report -z x; echo $?
cpt --verbose
