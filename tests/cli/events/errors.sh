# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what is wrong is said with its place
. "$(dirname "$0")/logs.sh"
printf 'source a = json\nsource b = regex (?<id>x; zone UTC\n' >bad.conf
cpt events check --sources bad.conf nginx.log
echo "$?"
printf 'source a = lnav none.json\n' >lnav.conf
cpt events check --sources lnav.conf nginx.log
echo "$?"
printf 'source a = json; files *.json\n' >other.conf
echo hello >hello.txt
cpt events check --sources other.conf hello.txt
echo "$?"
cpt events check --sources other.conf nginx.log | sed -n 2p
: >empty.conf
cpt events check --sources empty.conf nginx.log
echo "$?"
echo hello >hello.txt
cpt events check hello.txt
echo "$?"
: >empty.log
cpt events check empty.log
echo "$?"
cpt events check none.log
echo "$?"
cpt events chekc nginx.log
echo "$?"
printf '{"shop":{"json":true,"opid-field":"traceId","timestamp-field":"time","timestamp-divisor":1000,"body-field":"msg","converter":{}}}' >shop.lnav
printf 'source shop = lnav shop.lnav; outer docker\n' >good.conf
cpt events check --sources good.conf shop.json | sed -n 2p
