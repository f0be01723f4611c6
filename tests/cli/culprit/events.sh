# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# lines of callees alone: the way to a callee looks like work of its caller, so nothing
# is sure; with the callers' lines it is
rows() # MICROSECONDS-OF-THE-NETWORK CLIENTS
{
    awk -v net="$1" -v clients="$2" 'function n(x) { return sprintf("%.0f", x) }
    function put(service, unit, name, role, peer, from, to) {
        print id, service, unit, name, role, peer, n(from), n(to)
    }
    BEGIN {
        OFS = ","
        split("a b c d e", names, " ")
        print "id,service,unit,event,role,peer,begin_us,end_us"
        for (i = 0; i < 80; i++) {
            id = sprintf("%032x", i + 1)
            t = 1700000000000001 + i * 1000000
            at = t + 1000 + i * 7 % 13
            for (s = 1; s <= 5; s++) {
                far = names[s] == "c" ? net : 300
                work = 4000 + (i * 31 + s * 17) % 97
                if (clients) {
                    put("web", "k" i names[s], "call " names[s], "client", names[s], at, at + 2 * far + work)
                }
                put(names[s], "s" i names[s], "do", "server", "", at + far, at + far + work)
                at += 2 * far + work + 900 + (i * 11 + s) % 89
            }
            put("web", "w" i, "GET /", "server", "", t, at)
        }
    }'
}
for clients in 1 0; do
    rows 300 $clients >base.csv
    rows 9000 $clients >new.csv
    cpt import --events base.csv -o base.cptlog 2>/dev/null
    cpt import --events new.csv -o new.cptlog 2>/dev/null
    cpt culprit base.cptlog new.cptlog | sed 's/, first in .*//;/^ /d;/^score/d;/resamples/d;/^$/d'
    cpt culprit --json base.cptlog new.cptlog 2>/dev/null | grep -o '"verdict":"[a-z]*"'
done
# points alone: gaps are calls
points() # MICROSECONDS-OF-THE-NETWORK
{
    rows "$1" 0 | awk -F, -v OFS=, 'NR == 1 { print "id,service,event,time_us"; next }
        { print $1, $2, $4 " begin", $7; print $1, $2, $4 " end", $8 }'
}
points 300 >base.csv
points 9000 >new.csv
cpt import --events base.csv -o base.cptlog 2>/dev/null
cpt import --events new.csv -o new.cptlog 2>/dev/null
cpt culprit base.cptlog new.cptlog | sed 's/, first in .*//;/^ /d;/^score/d;/resamples/d;/^$/d'
