# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a log without records says how many requests were not traced, and why
make_log untraced >a.cptlog
cpt report a.cptlog; echo $?
cpt diff a.cptlog --base arm=a --new arm=b; echo $?
cpt log a.cptlog; echo $?
cpt show a.cptlog; echo $?
cpt log --check a.cptlog
mkdir logs
cp a.cptlog logs/1.cptlog
make_log empty >logs/2.cptlog
cpt report logs
make_log few >logs/3.cptlog
cpt report logs | head -1
