# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what a program does not write by default has a directive, which is exact
echo '127.0.0.1 - - [29/Nov/2026:02:45:43 +0000] "GET / HTTP/1.1" 200 6 "-" "curl/7.88.1"' >access.log
mkdir apache2
cp access.log apache2/
echo 'Nov 29 02:45:43 haproxy[3625]: 127.0.0.1:49526 [29/Nov/2026:02:45:43.653] front shop/s1 0/0/0/0/0 200 225 - - ---- 1/1/0/0/0 0/0 "GET / HTTP/1.0"' >haproxy.log
echo '2023-01-29 08:48:42.425 UTC [1234] shop@shopdb LOG:  duration: 12.345 ms  statement: SELECT 1' >db.log
echo '{"level":30,"time":1674982122425,"pid":657,"hostname":"h1","msg":"hello"}' >pino.log
echo '{"level":"info","ts":1674982122.425,"caller":"a/b.go:7","msg":"hello"}' >zap.log
echo '2023-01-29 08:48:42.425 [main] INFO  c.s.OrderService - Placed order 77' >java.log
for file in access.log apache2/access.log haproxy.log db.log pino.log zap.log java.log; do
    echo "== $file"
    cpt events check $file | sed '1,/requests have\|no line has/d'
done
echo "== PostgreSQL says its id, and more beside it"
cat >pg.log <<'END'
2026-11-29 03:35:32.801 UTC [25494] LOG:  database system is ready to accept connections
2026-11-29 03:35:32.869 UTC [25518] a@b id=0af7651916cd43dd8448eb211c80319c LOG:  duration: 0.226 ms  statement: select 1
2026-11-29 03:35:32.873 UTC [25518] a@b id=0af7651916cd43dd8448eb211c80319c LOG:  duration: 0.013 ms  statement: select
	 2
END
cpt events check pg.log | sed '3,$d'
echo "== lengths of logfmt, and calls as their callers see them"
echo 'time=2026-01-01T00:00:00.001Z msg=x request_id=7' >shop.log
echo 'time=2026-01-01T00:00:00.001Z msg=y request_id=7' >pay.log
cpt events check shop.log pay.log | sed -n '/^For/,/^$/p'
cat >callees.csv <<'END'
id,service,event,begin_us,end_us
r1,web,GET,1700000000000000,1700000000009000
r1,shop,find,1700000000002000,1700000000005000
END
sed -n '1,2p' callees.csv >web.csv
sed -n '1p;3p' callees.csv >shop.csv
cpt events check web.csv shop.csv | sed -n '/^calls/,/^$/p'
