# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# lines of logs as records, with what was left out
awk 'function n(x) { return sprintf("%.0f", x) }
BEGIN {
    OFS = ","
    print "id,service,host,unit,event,role,peer,time_us,begin_us,end_us"
    for (i = 0; i < 60; i++) {
        id = sprintf("%032x", i + 1)
        t = 1700000000000001 + i * 1000000
        print id, "web", "h1", "w" i, "GET /", "server", "", "", n(t), n(t + 9000)
        print id, "web", "h1", "c" i, "call", "client", "shop", "", n(t + 1000), n(t + 8000)
        # the clock of h2 is 50 ms ahead
        print id, "shop", "h2", "s" i, "find", "server", "", "", n(t + 52000), n(t + 57000)
    }
    t = 1700000100000000
    print "order-17", "web", "", "", "begin", "", "", n(t), "", ""
    print "order-17", "shop", "", "t1", "look", "", "", n(t + 3000), "", ""
    print "order-17", "shop", "", "t1", "found", "", "", n(t + 5000), "", ""
    print "order-17", "web", "", "", "end", "", "", n(t + 9000), "", ""
    print "order-17", "shop", "", "t1", "late", "", "", n(t + 10000), "", ""
    print "order-18", "web", "", "", "alone", "", "", n(t), "", ""
    print "server only", "web", "", "", "GET /", "server", "", "", n(t), n(t + 10)
    print "server only", "shop", "", "", "find", "server", "", "", n(t + 1), n(t + 9)
    # left out
    print "", "web", "", "", "begin", "", "", n(t), "", ""
    print "x", "web", "", "", "begin", "", "", 5, "", ""
    print "x", "web", "", "", "begin", "", "", "-9223372036854775808", "", ""
    print "x", "web", "", "", "begin", "", "", "soon", "", ""
    print "x", "web", "", "", "begin", "", "", "", n(t), n(t - 1)
    print "x", "web", "", "", "begin", "", "", "", n(t), ""
    print "order-17", "web", "", "", "begin", "", "", n(t + 86500000000), "", ""
    print "x", "\"web", "", "", "begin", "", "", n(t), "", ""
}' >lines.csv
cpt import --events lines.csv -o lines.cptlog; echo "exit $?"
cpt log --paths lines.cptlog | head -12
cpt log --paths lines.cptlog | tail -26
cpt report --by service lines.cptlog
# many files, one that cannot be read: the rest counts
echo nothing >nothing.csv
cpt import --events nothing.csv lines.csv absent.csv -o again.cptlog 2>/dev/null; echo "exit $?"
cmp lines.cptlog again.cptlog && echo same
cpt import --events nothing.csv -o none.cptlog; echo "exit $?"
ls none.cptlog
# other commands take such a file as it is
cpt report --by service lines.csv 2>/dev/null
cpt log lines.csv 2>/dev/null | tail -2
cpt import --events --sections lines.csv -o x.cptlog; echo "exit $?"
