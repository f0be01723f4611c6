# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what could not be written is said
make_log few >a.cptlog
cpt log a.cptlog >/dev/full
echo $?
cpt folded -o /dev/full a.cptlog
