# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a profile of drags: of those requests that have them; labels; another selection
make_log drags >a.cptlog
cpt pprof --kind drag -o all.pb.gz a.cptlog
cpt pprof -q --kind drag --label-by arm -o arms.pb.gz a.cptlog
cpt pprof -q --kind drag --view edge --where 'arm == "control"' -o edges.pb.gz a.cptlog
gzip -dc all.pb.gz | grep -a -o -E '(requests|drag|drag_total|nanoseconds|average drags [^,;]*[0-9])' | sort | uniq -c
gzip -dc arms.pb.gz | grep -a -o -E 'arm|control|treatment' | sort | uniq -c
# the usual kind is the same, byte for byte, with drags and without
mkdir without && make_log experiment >without/a.cptlog
cpt pprof -q -o with.pb.gz a.cptlog
(cd without && cpt pprof -q -o a.pb.gz a.cptlog)
cmp with.pb.gz without/a.pb.gz && echo 'the same'
for no in '--kind drag without/a.cptlog' '--kind cpu a.cptlog'; do
    cpt pprof -q -o no.pb.gz $no
    echo $?
done
ls no.pb.gz
