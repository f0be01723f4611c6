# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# untraced.sh - the log of a service that traced none of its requests says so: while it
# runs, after it was ended, and after it was killed.
. "$(dirname "$0")/system.sh"
need curl

rm -f ./*.cptlog
start C "$CPT_EXAMPLES/figure1_c" --port 0
C=$(url C)
start B "$CPT_EXAMPLES/figure1_b" --port 0 --c "$C"
B=$(url B)

# serve LOG COUNT: A with a small probability, and COUNT requests.
serve() {
    start A "$CPT_EXAMPLES/figure1_a" --port 0 --b "$B" --c "$C" --log "$1" --probability 1e-9
    a=$pid
    A=$(url A)
    i=0
    while [ $i -lt "$2" ]; do
        curl -s -o reply "$A/?page=home"
        i=$((i + 1))
    done
}

# says LOG SENTENCE: within two seconds.
says() {
    tries=20
    until "$CPT" report "$1" 2>&1 | grep -q "$2"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || fail "$1: $("$CPT" report "$1" 2>&1)"
        sleep 0.1
    done
}

serve a.cptlog 5
says a.cptlog 'A traced 0 of 4 or more requests, its probability is 1e-09'
kill "$a"
wait "$a" || true
says a.cptlog 'A traced 0 of 5 requests, its probability is 1e-09'
serve b.cptlog 3
says b.cptlog 'A traced 0 of 2 or more requests'
kill -9 "$a"
wait "$a" || true
says b.cptlog 'A traced 0 of 2 or more requests'
serve a.cptlog 2
kill "$a"
wait "$a" || true
says a.cptlog 'A traced 0 of 7 requests'
