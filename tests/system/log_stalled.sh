# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# log_stalled.sh - a service whose log goes to a FIFO: it answers while the reader takes
# nothing, and after the reader has left; SIGTERM ends it.
. "$(dirname "$0")/system.sh"
need curl

rm -f pipe
mkfifo pipe

# counts NAME: that counter is not 0, within 20 seconds.
counts() {
    tries=200
    until curl -s "$C/cpt/counters" | grep -q "\"$1\",\"value\":[1-9]"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || fail "$1 is 0: $(curl -s "$C/cpt/counters")"
        sleep 0.1
    done
}

# serve COUNT: C, whose log has a reader that takes nothing, and COUNT traced requests.
serve() {
    sleep 600 <pipe >/dev/null 2>&1 &
    reader=$!
    started="$started $reader"
    start C "$CPT_EXAMPLES/figure1_c" --port 0 --log pipe --probability 1
    service=$pid
    C=$(url C)
    curl -s -o reply "$C/C1?[1-$1]" || fail 'it does not answer'
}

say 'the reader takes nothing'
serve 3000 # more than a FIFO and the queue hold
counts log_dropped
kill "$service"
wait "$service" || fail "it ended with $?"

say 'the reader has left'
kill "$reader"
wait "$reader" || true
serve 1
kill "$reader"
wait "$reader" || true
curl -s -o reply "$C/C1?[1-10]" || fail 'it does not answer'
counts log_lost
kill "$service"
wait "$service" || fail "it ended with $?"
