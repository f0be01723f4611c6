# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# if no request is selected, the term that left none is named, and what it may have meant
make_log experiment >a.cptlog
for where in 'amr=control' 'arm == "control" and region == "uss"' 'arm=kontrol' \
    'arm == "treatmnt" or arm == "contro"' 'items == 99' 'region in ("xx", "yy")' \
    'path("A: A2")' 'path("b2")' 'path("Lookup")' 'path("A1;A: B2")' \
    'path("A: /;B: B2")' 'path("B: B2") > 1s' 'path("<blind_spit>")' \
    'latency > 5s' 'latency < 1ms' 'status == "20"' 'service == "a"' \
    'arm == "control" and not has(arm) and latency > p99' 'ratio < 0' \
    'arm == "no and (\"yes\")" and has(arm)' 'arm=a and b'; do
    cpt report --where "$where" a.cptlog
done
cpt report --where arm=control --where 'region == "eux"' a.cptlog
cpt report --entry a a.cptlog
cpt report --entry shop a.cptlog
cpt report --since 2027-01-01 a.cptlog
cpt report --since 2026-11-21T06:00:10Z --until 2026-11-21T06:00:20Z --where items=7 a.cptlog
cpt diff a.cptlog --base arm=control --new arm=tretment
echo '-- a pipe is read once'
cpt report --where amr=control - <a.cptlog
echo '-- other commands'
cpt show --where arm=kontrol a.cptlog; echo $?
cpt show --record 121 a.cptlog; echo $?
cpt show --record 3 --where arm=kontrol a.cptlog; echo $?
cpt log --where arm=kontrol a.cptlog; echo $?
cpt log --where arm=kontrol a.cptlog -o none.cptlog; echo $?
echo '-- kinds of our own, as a keyboard has them'
for where in 'path("C: <blind spot>")' 'path("<blind spot>")' 'path("C: ‹blind spot›")' \
    'path("<blind_spit>")'     'path("B: <Network+Serialization>") > 0ms'; do
    cpt report --where "$where" a.cptlog | head -1
done
