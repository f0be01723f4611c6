# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# output that could not be written is reported
make_log few >a.cptlog
cpt log a.cptlog >/dev/full
echo $?
cpt folded -o /dev/full a.cptlog
