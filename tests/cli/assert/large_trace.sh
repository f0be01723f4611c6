# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a trace that is too large is left out: no rule holds for what was not seen
awk 'BEGIN {
    for (i = 1; i <= 1500000; i++)
        printf "{\"traceId\":\"a\",\"id\":\"%x\",\"parentId\":\"%s\",\"timestamp\":1,\"duration\":9,\"name\":\"bad\"}\n",
            i, (i == 1) ? "" : "1"
    print "{\"traceId\":\"b\",\"id\":\"1\",\"timestamp\":1,\"duration\":9,\"name\":\"good\"}"
}' >large.json
cpt assert 'no span("bad")' large.json; echo "exit $?"
cpt slack large.json; echo "exit $?"
rm large.json
