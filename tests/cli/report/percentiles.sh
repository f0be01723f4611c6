# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a percentile is that of the records which the other terms select; a pipe cannot be read
# twice; only the second pass reports damage
make_log experiment >a.cptlog
cpt report --where 'latency > p90' a.cptlog | head -2
cpt report --where 'arm == treatment and latency > p90' a.cptlog | head -2
cpt report --where 'latency > p90' --where arm=treatment --since 2026-11-21T06:01:00Z a.cptlog | head -2
cpt report --where 'latency <= p50 and latency > p25.5' a.cptlog | head -2
cpt report --json --where 'latency > p90' a.cptlog | head -1
make_log damaged >d.cptlog
cpt report --where 'latency > p90' d.cptlog | head -2
cpt report --where 'latency > p90' - <a.cptlog; echo $?
mkfifo pipe
cpt report --where 'not (latency <= p99)' pipe; echo $?
cpt report --where 'latency > p50' missing; echo $?
cpt diff a.cptlog --base 'arm == control and latency > p90' --new 'arm == treatment and latency > p90' | grep -v '^ *[-+0]'
cpt aggregate -o a.cpttree a.cptlog
cpt report --where 'latency > p50' a.cpttree; echo $?
cpt report --sample 5 clickhouse://localhost:1/cpt a.cptlog; echo $?
