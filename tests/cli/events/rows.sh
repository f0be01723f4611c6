# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# rows that are refused say why; lines that no request gets say what that means
cat >bad.csv <<'END'
id,service,event,time_us
r1,a,x,abc
r1,a,ok,1700000000000000
r4,,z,1700000000000000
r5,a,"open,1700000000000000
END
for first in 1 3 4; do
    sed "1p;1,${first}d" bad.csv >rest.csv
    cpt events check rest.csv | grep -A 1 'of no form'
done
cpt import --events bad.csv -o bad.cptlog
sed -n '1p;4p' bad.csv >none.csv
cpt events check none.csv --format csv --columns source,lines,unread,events
echo "== without a column of services"
printf 'id,event,time_us\nr1,a,1700000000000000\nr1,b,1700000000002000\n' >anyone.csv
cpt events check anyone.csv --json | grep -o '"services":[^,]*'
echo "== no line has an id"
printf 'id,service,time_us\n,web,1700000000000000\n' >without.csv
cpt events check without.csv | sed -n '3,$p'
echo "== points beside intervals"
cat >mixed.csv <<'END'
id,service,event,role,peer,begin_us,end_us,time_us
r1,nginx,GET,server,,1700000000000000,1700000000030000,
r1,nginx,GET,client,shop,1700000000001000,1700000000029000,
r1,shop,got,,,,,1700000000003000
r1,shop,done,,,,,1700000000027000
END
cpt import --events mixed.csv -o mixed.cptlog
cpt log --paths mixed.cptlog | tail -n 7
echo "== a unit of points, of which one lies in an interval of its service"
cat >partly.csv <<'END'
id,service,unit,event,role,begin_us,end_us,time_us
r1,a,u1,GET,server,1700000000000000,1700000000010000,
r1,a,u2,in it,,,,1700000000004000
r1,a,u2,behind it,,,,1700000000020000
END
cpt import --events partly.csv -o partly.cptlog
cpt events check partly.csv | grep -A 3 'lie in no'
