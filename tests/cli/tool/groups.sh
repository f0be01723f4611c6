# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the name of a group, unless it is a file or a command, is `cpt help GROUP`
for word in look fix compare questions; do
    cpt help $word >wanted
    cpt $word | cmp - wanted
    cpt $word --help | cmp - wanted
done
cpt >wanted
cpt help --help | cmp - wanted
cpt help -h | cmp - wanted
cpt fix x; echo $?
cpt help collect | tail -2
make_log few >look
cpt look | head -1
