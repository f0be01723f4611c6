# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a trace that is too large is left out and counted; the others are read
{
    awk 'BEGIN { for (i = 1; i < 20000; i++) {
        printf "{\"traceId\":\"1\",\"id\":\"%x\",\"timestamp\":5,\"duration\":2}\n", i } }'
    echo '{"traceId":"2","id":"a","name":"small","timestamp":5,"duration":7}'
} >spans.json
cpt import --sections --trace-limit=1 spans.json; echo "exit $?"
cpt import --sections --trace-limit=0 spans.json; echo "exit $?"
cpt import -o all.cptlog spans.json; echo "exit $?"
