# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --events takes folders as 'cpt events check' does: their files of text, compressed or not
mkdir -p logs/old
cat >logs/web.csv <<'END'
id,service,event,begin_us,end_us
r1,web,GET,1700000000000000,1700000000009000
END
echo '{"time":1700000000005,"msg":"found","level":30,"request_id":"r1"}' >logs/shop.log
gzip -c logs/shop.log >logs/old/pay.log.1.gz
head -c 100 /dev/zero >logs/zeros
cpt import --events logs -o lines.cptlog; echo "exit $?"
cpt events check logs | sed '/^$/,$d'
cpt report lines.cptlog 2>/dev/null | sed -n '1,2p'
echo '-- without --events a folder stands for its spans'
cpt import logs -o spans.cptlog; echo "exit $?"
