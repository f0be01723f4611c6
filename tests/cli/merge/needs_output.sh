# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a tree is not written to a terminal
cpt merge a.cpttree; echo $?
