# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a term has a key and a value
cpt log --where arm x; echo $?
cpt log --where =x x
