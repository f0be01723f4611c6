# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what lines carry and lack, by source and by class; the text fits a terminal
. "$(dirname "$0")/logs.sh"
cpt events check --sources sources.conf nginx.log shop.json pay.log
cpt events check nginx.log shop.json
gzip -c nginx.log >a.gz
cpt events check a.gz --format csv --columns source,format,events,servers,clients
echo "== points"
cpt events check --sources sources.conf shop.json pay.log
COLUMNS=80 cpt events check --sources sources.conf nginx.log shop.json pay.log | grep -E '^.{81,}'
echo "== JSON"
cpt events check --json --sources sources.conf nginx.log shop.json pay.log | tee check.json
if command -v python3 >/dev/null; then
    tests=$(cd "$(dirname "$0")/.." && pwd)
    python3 "$tests/json_schema.py" --complete "$tests/../../docs/schemas/events_check.json" <check.json
fi
cpt events check - <nginx.log | sed -n 2p
echo "== a zone that is not said"
sed 's/2023-01-29T08:48:4\(.\)/2023-01-29 16:48:4\1/; s/^[^ ]* [^ ]* stdout F 08/2023-01-29T16/' pay.log >local.log
echo 'source nginx = format nginx; files nginx.log
source local = regex ^(?<time>\S+) (?<event>\S+#\d+) \[(?<id>\w+)\]' >zone.conf
cpt events check --sources zone.conf nginx.log local.log | grep -A 1 "later than"
echo "== many services of one source are called after their files"
echo 'source all = regex ^(?<time>\S+) (?<event>\S+#\d+) \[(?<id>\w+)\]; files *.log
source one = regex ^(?<time>\S+) (?<event>\S+#\d+) \[(?<id>\w+)\]; files stock*' >all.conf
cp local.log web.log
cp local.log stock-1.txt
cpt events check --sources all.conf local.log web.log stock-1.txt --json | grep -o '"services":"[^"]*"'
echo "== a folder"
mkdir -p logs/old
cp nginx.log logs
gzip -c nginx.log >logs/old/nginx.log.1.gz
head -c 100 /dev/zero >logs/zeros
cpt events check logs | sed -n 2p
