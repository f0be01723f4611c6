# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# lines of an entry with their paths: whose time is beyond the path, in what form the
# lines are taken, which are refused, and what cannot be made of them
path=CAEQoPc2GKD3NioEQTogLyoIQTogcGFyc2UqCEE6IGluZGV4KglCOiBMb29rdXAqB0E6IHJhbmsqCUE6IHJlbmRlcjIHAAECAQEFBjoHAQIDBAAFBkIFAAAAAAJKBgECAwQFBlISwJoMwLgC8IQOsOoB8JMJkKEPcgECegEBigEBAg
line() { # MEMBERS: the path takes 900 us
    printf '{"time":1700000000.123,%s,"path":"%s"}\n' "$1" $path
}
{
    line '"latency":0.002,"method":"GET","status":200,"region":"eu","arm":3'
    echo
    line '"latency":0.0009,"status":503,"service":"A","probability":0.25'
} >a.jsonl
{
    line '"latency":"0.000","method":"GET","status":"200","service":"nginx"'
    line '"latency":0.003,"service":"nginx","trace_id":"0af7651916cd43dd8448eb211c80319c"'
    line '"latency":0.0005,"service":"nginx","method":"GET"'
    printf '{"end":7,"latency":0.1,"path":""}\n'
} | gzip >b.gz

echo "== records"
cpt import -o a.cptlog a.jsonl b.gz
cpt log a.cptlog
for record in 1 2 3 4 5; do
    cpt show --record $record a.cptlog
done

echo "== one that names no service, from standard input; in the place of a log"
head -1 a.jsonl | cpt import --service edge -o - - | cpt report - | head -12
cpt report --entry A --where arm=3 a.jsonl | tail -4

echo "== refused"
{
    line '"latency":0.002'
    echo garbage
    line '"latency":-1'
    line '"latency":0.002,"nonce":"00000000000000a1"'
    printf '{"time":1,"latency":1,"path":"AAAA"}\n{"time":1,"latency":1,"path":"?"}\n'
    printf '{"time":1,"latency":1,"path":"CAEY6Ac"}\n'
    line '"latency":0' | head -c 60
} >refused.jsonl
cpt import -o refused.cptlog refused.jsonl
echo "exit status $?"
printf '{"end":7,"latency":0.1,"path":""}\n' >pathless.jsonl
cpt import -o none.cptlog pathless.jsonl || echo "exit status $?"
test ! -e none.cptlog && echo "no log"

echo "== no spans"
cpt import --sections a.jsonl
cpt import -o a.pftrace a.jsonl
cpt import --annotate copy.jsonl a.jsonl
ls ./*.pftrace copy.jsonl 2>/dev/null
true
