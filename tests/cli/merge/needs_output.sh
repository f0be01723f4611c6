# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a tree is not for the screen
cpt merge a.cpttree; echo $?
