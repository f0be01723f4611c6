# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a file of no known format: its first line, and a source to start from, which reads it
try() { # try NAME LINE...
    echo "== $1"
    name=$1
    shift
    printf '%s\n' "$@" >$name
    cpt events check $name 2>told.txt || echo "exit $?"
    cat told.txt
    sed -n 's/.*names: //p' told.txt >sources.conf
    if test -s sources.conf; then
        cpt events check --sources sources.conf $name | sed -n 2p
    fi
}
try shop.log '2026-11-29 04:13:33,062 INFO shop: got order 7 request_id=d9058ff8' \
    '2026-11-29 04:13:33,088 INFO shop: sent request_id=d9058ff8' \
    '2026-11-29 04:13:33,090 INFO shop: idle'
try pay.log '2026/11/29 04:13:33 charged [reqId: 77-a] 3' '2026/11/29 04:13:34 done'
try stock.txt '[2026-11-29T04:13:33.062Z] worker-1 found'
try cart.log '[29/Nov/2026:04:13:33 +0000] added x-request-id=5 id=7'
try plain.log 'INFO:root:got order'
