# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# spans_of_shops.sh - spans for tests to include
# shop SLOW HOSTS: 45 requests as Jaeger's JSON, always the same. A calls B, C, D, E and
# F; B has two operations, and a replica on each of the three HOSTS. SLOW of B, an
# operation or a host, takes four times as long.
shop() {
    awk -v slow="$1" -v hosts="$2" '
    function span(id, above, operation, process, side, from, to) {
        printf "%s{\"traceID\":\"%08x\",\"spanID\":\"%s\",\"operationName\":\"%s\",", comma, n + 1, id, operation
        printf "\"references\":[%s],", above == "" ? "" : \
            sprintf("{\"refType\":\"CHILD_OF\",\"traceID\":\"%08x\",\"spanID\":\"%s\"}", n + 1, above)
        printf "\"startTime\":%d,\"duration\":%d,\"processID\":\"%s\",", 1700000000000000 + n * 1000000 + from, to - from, process
        printf "\"tags\":[{\"key\":\"span.kind\",\"type\":\"string\",\"value\":\"%s\"}]}", side
        comma = ","
    }
    function process(id, service, host) {
        printf "%s\"%s\":{\"serviceName\":\"%s\",\"tags\":[", comma, id, service
        printf "%s]}", host == "" ? "" : sprintf("{\"key\":\"hostname\",\"type\":\"string\",\"value\":\"%s\"}", host)
        comma = ","
    }
    BEGIN {
        count = split(hosts, host, " ")
        printf "{\"data\":["
        for (n = 0; n < 45; n++) {
            printf "%s{\"traceID\":\"%08x\",\"spans\":[", n == 0 ? "" : ",", n + 1
            comma = ""
            at = 1000
            for (k = 1; k <= 5; k++) {
                service = substr("BCDEF", k, 1)
                operation = k > 1 ? "ask" : int(n / 3) % 2 ? "put" : "get"
                took = 1000 + (n * 7 + k * 13) % 10 * 20
                if (k == 1 && (operation == slow || host[1 + n % 3] == slow))
                    took *= 4
                edge = 200 + (n * 3 + k * 5) % 7 * 10
                span("c" k, "1", operation, "a", "client", at, at + 2 * edge + took)
                span("5" k, "c" k, operation, service, "server", at + edge, at + edge + took)
                at += 2 * edge + took + 300
            }
            span("1", "", "/", "a", "server", 0, at + (n * 11) % 5 * 50)
            printf "],\"processes\":{"
            comma = ""
            process("a", "A", count ? "front" : "")
            for (k = 1; k <= 5; k++)
                process(substr("BCDEF", k, 1), substr("BCDEF", k, 1), k == 1 ? host[1 + n % 3] : "")
            printf "}}"
        }
        print "]}"
    }'
}
