# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the examples of a page are requests of the sample, with all their fields
make_log experiment >a.cptlog
cpt report --html page.html --sample 10 a.cptlog
# examples FILE: the examples in the page.
examples() {
    grep -o '"example":{"start":"[^"]*","latency_ns":[0-9]*,"entry":"[^"]*","status":"[^"]*","remarks":"[^"]*","metadata":"[^"]*"' "$1"
}
examples page.html
cpt log --json --sample 10 a.cptlog | grep -o '"latency_ns":[0-9]*' | sort -u >drawn
examples page.html | grep -o '"latency_ns":[0-9]*' | sort -u | comm -13 drawn -
cpt report --sample 10 a.cptlog | head -3
