# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# operators.sh - what docs/operations.md says, with a service of examples/shop/: health,
# settings from a file, the metrics that the page names, the unit of systemd.
. "$(dirname "$0")/system.sh"
need curl
root=$(cd "$(dirname "$0")/../.." && pwd)

say 'it has a port for operators'
rm -rf log conf
mkdir log
printf 'tracing = off\n' > conf
start price "$CPT_EXAMPLES/shop_price" --listen 127.0.0.1:0 --operators 127.0.0.1:0 \
    --settings conf --log log --spans log --graph 0 --trust 127.0.0.0/8 --probability 0
await price.out 'price listens on'
url=http://$(sed -n 's/^price listens on //p' price.out)
operators=http://$(sed -n 's/^price tells operators on //p' price.out)
[ "$(curl -s "$operators/healthz")" = alive ] || fail 'it is not alive'
[ "$(curl -s "$operators/readyz")" = ready ] || fail 'it is not ready'
await price.err 'settings taken: conf'

# metric NAME: its value.
metric() {
    curl -s "$operators/metrics" | awk -v name="$1" '$1 ~ "^" name "({|$)" { sum += $2 }
        END { print sum + 0 }'
}
is_traced() {
    curl -s -D head -o body -H 'critical-path: 1;forced' -d 1 "$url/price" > /dev/null
    grep -qi '^critical-path-bin' head
}

say 'settings are taken from the file, and bad ones are not'
! is_traced || fail 'traced although tracing = off'
: > conf # as a full disk does
kill -HUP "$pid"
await price.err 'settings refused: conf: line 1: the file is empty'
printf 'trust = 127.0.0.0/8\n' > new && mv new conf
kill -HUP "$pid"
await price.err "settings taken: conf; tracing stays off until it says 'tracing = on'"
! is_traced || fail 'a file without the line has switched tracing on'
printf 'tracing = on\ntrust = 127.0.0.0/8\n' > new && mv new conf
kill -HUP "$pid"
tries=100
until is_traced; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail 'the file was not taken'
    sleep 0.1
done
printf 'tracing = on\nprobability = 7\n' > new && mv new conf
kill -HUP "$pid"
await price.err "settings refused: conf: line 2: 'probability' is no number"
is_traced || fail 'a bad file has changed something'
[ "$(metric cpt_settings_refused_total)" = 2 ] || fail 'settings_refused'

say 'the kill switch is obeyed in place, without its line end'
printf 'tracing = off' > conf
kill -HUP "$pid"
tries=100
while is_traced; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail 'the kill switch was not obeyed'
    sleep 0.1
done

say 'the metrics that the page names are there'
curl -s "$operators/metrics" > metrics
# What stands before a bracket is a function.
for name in $(grep -oE 'cpt_[a-z_]*[a-z]\(?' "$root/docs/operations.md" | grep -v '(' | sort -u); do
    case $name in
    cpt_http_listen_operators | cpt_log_queue | cpt_manual) continue ;;
    cpt_callee_*_total) # this service has no callee
        field=${name#cpt_callee_}
        field=${field%_total}
        case $field in *_seconds) field=${field%_seconds}_ns ;; esac
        grep -q "X($field, " "$root/framework/service/counters.h" ||
            fail "docs/operations.md: $name is no metric"
        continue
        ;;
    cpt_http_target_*) # nor a stub with several targets
        field=${name#cpt_}
        grep -q "\"${field%_total}\"," "$root/framework/transport/http/client/http_target_counters.c" ||
            fail "docs/operations.md: $name is no metric"
        continue
        ;;
    esac
    grep -q "^$name[{ ]" metrics || fail "docs/operations.md: $name is no metric"
done

say 'it ends with 0'
kill "$pid"
wait "$pid" || fail "exit $?"
started=

if command -v systemd-analyze > /dev/null; then
    say 'the unit is good'
    sed 's|/usr/bin/shop_front|/bin/true|' "$root/examples/shop/front.service" > front.service
    systemd-analyze verify ./front.service > verify 2>&1 || fail "$(head verify)"
    ! grep -q 'front.service' verify || fail "$(head verify)"
fi
