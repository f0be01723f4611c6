# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# logs.sh - lines of seven requests: nginx, a service that writes JSON in a container, and
# one whose lines are its own
for i in 1 2 3 4 5 6 7; do
    id=0af7651916cd43dd8448eb211c80319$i
    echo "10.0.0.9 - - [29/Jan/2023:08:48:4$i +0000] \"GET /cart/$i HTTP/1.1\" 200 612 \"-\" \"curl/7.88.1\" at=167498212$i.425 id=$id took=0.040 upstream=\"0.038\" peer=shop" >>nginx.log
    for event in begin:390 asked:400 done:420; do
        printf '{"log":"{\\"time\\":167498212%s%s,\\"msg\\":\\"%s order %s\\",\\"traceId\\":\\"%s\\",\\"hostname\\":\\"h1\\"}\\n","stream":"stdout","time":"2023-01-29T08:48:4%s.%s512Z"}\n' \
            $i ${event#*:} ${event%:*} $i $id $i ${event#*:} >>shop.json
    done
    echo "08:48:4$i.405 pay.go#12 [$id] charged $i" >>pay.txt
    echo "08:48:4$i.4$((10 + i % 2 * 5)) pay.go#40 [$id] done" >>pay.txt
    echo "08:48:4$i.4$((15 - i % 2 * 5)) audit.go#7 [$id] done" >>pay.txt
done
sed 's/^08:48:4\(.\)/2023-01-29T08:48:4\1.9Z stdout F &/' pay.txt >pay.log
echo 'panic: no money' >>pay.log
cat >sources.conf <<'END'
# what shop and pay write
source shop = format pino; outer docker; files shop*.json
source pay  = regex ^(?<time>\S+) (?<event>\S+#\d+) \[(?<id>\w+)\]; outer cri; files pay*
source nginx = format nginx; files nginx.log
END
