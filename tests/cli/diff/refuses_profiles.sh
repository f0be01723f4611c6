# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a profile has no variances
make_log few >a.cptlog
printf "\037\213\010\000 a profile, perhaps" >a.pb.gz
cpt diff a.pb.gz a.cptlog; echo $?
cpt report a.pb.gz
