# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# all terms must hold; numbers, booleans and fields of the record can be tested
make_log experiment >a.cptlog
count() { cpt log --json "$@" a.cptlog | wc -l; }
count
count -w arm=control
count -w arm=control -w region=eu
count --where items=3
count --where items=3.0
count --where ratio=2.5
count --where cached=true
count --where status=503
count --where failed=true
count --where forced=true
count --where method=/
count --where meta.arm=treatment
count --where meta.status=503
count --where trace_id=30313233343536373839616263646566
count --where arm=
count --entry B
