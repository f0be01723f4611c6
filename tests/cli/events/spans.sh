# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# lines of logs as spans: intervals by nesting, points by the order of time
rows()
{
    awk 'function n(x) { return sprintf("%.0f", x) }
    BEGIN {
        OFS = ","
        print "id,service,host,unit,event,role,peer,begin_us,end_us"
        for (i = 0; i < 60; i++) {
            id = sprintf("%032x", i + 1)
            t = 1700000000000001 + i * 1000000
            print id, "web", "h1", "w" i, "GET /", "server", "", n(t), n(t + 9000)
            print id, "web", "h1", "c" i, "call", "client", "shop", n(t + 1000), n(t + 8000)
            print id, "shop", "h2", "s" i, "find", "server", "", n(t + 2000), n(t + 7000)
            if (i % 2) {
                print id, "db", "h3", "d" i, "read", "server", "", n(t + 3000), n(t + 4000 + i)
            }
        }
    }'
}
rows >lines.csv
cpt events spans lines.csv -o spans.json; echo "exit $?"
head -7 spans.json
# in any order, compressed, from standard input: the same spans
(head -1 lines.csv; tail -n +2 lines.csv | sort -t, -k4) >sorted.csv
gzip -c sorted.csv | cpt events spans - -o sorted.json; echo "exit $?"
sed 's/"cpt.row","type":"int64","value":[0-9]*//' spans.json >a
sed 's/"cpt.row","type":"int64","value":[0-9]*//' sorted.json >b
cmp a b && echo same
# what is written can be read again, and means the same
cpt import spans.json -o spans.cptlog 2>/dev/null && cpt report spans.cptlog | tail -5
cpt events spans --format otlp lines.csv -o - 2>/dev/null | tee otlp.json | cpt import - -o otlp.cptlog 2>/dev/null
cpt report otlp.cptlog | tail -5
# and on what evidence it rests
cpt log --paths otlp.cptlog | sed -n '4p'
head -4 otlp.json
cat >points.csv <<'EOF'
id,service,unit,event,time_us
order-17,web,,begin,1700000000000000
order-17,shop,t1,look,1700000000003000
order-17,shop,t1,found,1700000000005000
order-17,web,,end,1700000000009000
order-17,shop,t1,late,1700000000010000
EOF
cpt events spans points.csv -o -; echo "exit $?"
# points in the time of an interval are its logs
cat >inner.csv <<'EOF'
id,service,unit,event,role,peer,time_us,begin_us,end_us
a,web,w1,GET /,server,,,1700000000000000,1700000000010000
a,web,w1,parsed,,,1700000000001000,,
a,web,c1,call,client,shop,,1700000000002500,1700000000007000
a,shop,s1,find,server,,,1700000000003000,1700000000006500
a,shop,,locked,,,1700000000004000,,
a,other,,lost,,,1700000000008500,,
EOF
cpt events spans inner.csv -o -
cpt events spans --format otlp inner.csv -o - 2>/dev/null | grep -o '"events":.*'
cpt import --events inner.csv -o inner.cptlog && cpt log --paths inner.cptlog | tail -n +4
