# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a log and an annotated copy at once: they are two files; a signal removes what there is of both
cat >spans.json <<'EOF'
[{"traceId":"1","id":"1","timestamp":1000,"duration":9}]
EOF
echo "an older one" >both
ln -s both link
cpt import -o both --annotate both spans.json; echo "exit $?"
cpt import -o both --annotate link spans.json; echo "exit $?"
cpt import -o new --annotate new spans.json; echo "exit $?"
cat both
ls

# no space for either
awk 'BEGIN { for (i = 1; i <= 4000; i++) printf "[{\"traceId\":\"%x\",\"id\":\"1\",\"timestamp\":1,\"duration\":9}]\n", i }' >many.json
cpt import --annotate /dev/full many.json; echo "exit $?"
cpt import -o /dev/full many.json; echo "exit $?"
rm many.json

mkfifo pipe
exec 9<>pipe
cpt import -o a.cptlog --annotate b.json pipe 9<&- &
# both temporary files are there, and it waits for spans
for _ in $(seq 600); do
    [ "$(ls -A | grep -c '^\.[ab]\.[a-z]*\.')" = 2 ] && break
    sleep 0.05
done
ls -A | grep -c '^\.[ab]\.[a-z]*\.'
kill -TERM $!
wait $! 2>/dev/null; echo "exit $?"
ls -A
