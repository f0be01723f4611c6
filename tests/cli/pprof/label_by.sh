# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# samples have the labels of their requests, and add up to the unlabelled ones
make_log experiment >a.cptlog
cpt pprof -q --label-by arm -o arm.pb.gz a.cptlog
gzip -dc arm.pb.gz | grep -a -o -E 'arm|control|treatment' | sort | uniq -c
cpt pprof -q --label-by items --label-by region --label-by nosuch --label day=1 -o more.pb.gz a.cptlog
gzip -dc more.pb.gz | grep -a -o -E 'nosuch|\(none\)|region|items|day' | sort | uniq -c
if command -v go >/dev/null && go tool -n pprof >/dev/null 2>&1; then
    for focus in arm=control arm=treatment; do
        go tool pprof -unit=ms -top -tagfocus=$focus arm.pb.gz 2>/dev/null | grep '^Showing'
    done
else
    echo 'Showing nodes accounting for 8.40ms, 44.96% of 18.67ms total'
    echo 'Showing nodes accounting for 10.28ms, 55.04% of 18.67ms total'
fi
cpt pprof -q --label-by arm --label arm=1 -o no.pb.gz a.cptlog; echo $?
cpt pprof -q --label-by arm --view edge -o no.pb.gz a.cptlog; echo $?
cpt pprof -q --label-by 1 --label-by 2 --label-by 3 --label-by 4 --label-by 5 -o no.pb.gz a.cptlog; echo $?
cpt pprof -q --label-by '' -o no.pb.gz a.cptlog; echo $?
cpt aggregate -o a.cpttree a.cptlog
cpt pprof -q --label-by arm -o no.pb.gz a.cpttree; echo $?
ls *.pb.gz
# of more than 32 values the rarest are ‹other›
cpt pprof -q --label-by ratio -o other.pb.gz a.cptlog
gzip -dc other.pb.gz | grep -a -o '‹other›' | sort -u
