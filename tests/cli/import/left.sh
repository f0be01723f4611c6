# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# spans in the place of a log leave no private copy, however the command ends: by an
# error, by a reader that has gone, by a signal that cannot be handled
python3 -c '
spans = ",".join("""{"traceId": "%032x", "id": "a", "timestamp": 1700000000000000,
    "duration": %d, "localEndpoint": {"serviceName": "front"}, "name": "get"}""" %
    (i, i) for i in range(1, 20001))
print("[" + spans + "]")' >many.json
mkdir none
echo '{"data": [' >none/bad.json
cpt report none; echo "exit $?"
cpt log many.json 2>said | head -2
cpt log --json many.json 2>said | true
ls -A "$TMPDIR"
for step in 1 2 3 4 5 6; do
    cpt log many.json >killed 2>&1 &
    sleep 0.0$step
    kill -9 $!
    wait $! 2>said
    ls -A "$TMPDIR"
done
cpt log many.json >killed 2>&1 &
kill -TERM $!
wait $! 2>said
ls -A "$TMPDIR"
echo "messages name the spans"
cpt log --check many.json 2>said
TMPDIR=missing cpt report many.json; echo "exit $?"
