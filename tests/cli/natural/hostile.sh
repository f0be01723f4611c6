# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# values from outside; several services; records of any evidence; names of frames
for log in hostile turned markup; do make_log $log >$log.cptlog; done
cpt natural hostile.cptlog turned.cptlog markup.cptlog --when 'latency > 7ms' --equal status --size none |
    head -n 7
cpt natural hostile.cptlog --when 'status == "\e[2J"'; echo $?
make_log services >services.cptlog
cpt natural services.cptlog --when 'start < 2026-11-21T06:00:05Z' --by service --size none | sed -n '1p;4,9p'
make_log evidence >evidence.cptlog
cpt natural evidence.cptlog --when 'start < 2026-11-21T06:00:05Z' --by service | sed -n '1p;4,10p'
make_log events >events.cptlog
cpt natural events.cptlog --when 'start < 2026-11-21T06:00:20Z' --evidence inferred --by service | sed -n '1p;4,10p'
