# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# an error names the values that an option takes
cpt diff a b --top; echo $?
cpt log --json=yes x; echo $?
cpt log -w; echo $?
cpt log -j -c x; echo $?
cpt diff a b --top ten; echo $?
cpt diff a b --top 0
