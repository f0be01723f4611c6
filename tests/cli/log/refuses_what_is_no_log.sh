# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# trees, profiles and other files are refused, each with its sentence
make_log few >a.cptlog
cpt aggregate -o a.cpttree a.cptlog
cpt log a.cpttree; echo $?
printf '\037\213\010\000 a profile, perhaps' >a.pb.gz
cpt log a.pb.gz; echo $?
echo 'hello, I am a file of text and no log at all, and long enough' >a.txt
cpt log a.txt; echo $?
cpt log missing.cptlog; echo $?
mkdir empty
cpt log empty
