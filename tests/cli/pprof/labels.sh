# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a label is on every sample; a malformed one is refused
make_log experiment >a.cptlog
cpt pprof -q --label arm=control --label "note=a=b" --where arm=control -o a.pb.gz a.cptlog
gzip -dc a.pb.gz | grep -a -c 'control'
for label in none =x pprof::base=true; do
    cpt pprof -q --label $label -o no.pb.gz a.cptlog; echo $?
done
cpt pprof -q --label a=1 --label a=2 -o no.pb.gz a.cptlog; echo $?
cpt pprof -q --label 1=1 --label 2=1 --label 3=1 --label 4=1 --label 5=1 --label 6=1 --label 7=1 \
    --label 8=1 -o eight.pb.gz a.cptlog; echo $?
cpt pprof -q --label 1=1 --label 2=1 --label 3=1 --label 4=1 --label 5=1 --label 6=1 --label 7=1 \
    --label 8=1 --label 9=1 -o no.pb.gz a.cptlog; echo $?
ls *.pb.gz
