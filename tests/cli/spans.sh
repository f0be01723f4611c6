# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# spans.sh - spans with notes of our services, as OTLP in JSON, for tests to include
# span TRACE SPAN PARENT START END NOTE
span() {
    printf '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%032d","spanId":"%016d","parentSpanId":"%s",' "$1" "$2" "$3"
    printf '"name":"op","startTimeUnixNano":"%s","endTimeUnixNano":"%s","attributes":[{"key":"critical_path.note",' "$4" "$5"
    printf '"value":{"stringValue":"%s"}}]}]}]}]}\n' "$6"
}
id() { printf '%016d' "$1"; }
