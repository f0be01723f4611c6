# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what cannot be predicted
make_log sessions >a.cptlog
cpt predict a.cptlog; echo $?
cpt predict a.cptlog --key user; echo $?
cpt predict a.cptlog --key user --threshold 5; echo $?
cpt predict a.cptlog --key user --threshold 1ms,2ms; echo $?
cpt predict a.cptlog --key usre --threshold 1ms; echo $?
cpt predict a.cptlog --key user --threshold 1ms --where user=none; echo $?
cpt predict a.cptlog --key user --threshold 1ms --what slack; echo $?
cpt predict a.cptlog --key user --threshold 1ms --frame x; echo $?
cpt predict a.cptlog --key user --threshold 1ms --what slack --frame x; echo $?
