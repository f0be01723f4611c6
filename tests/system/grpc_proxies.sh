# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# grpc_proxies.sh SOURCE - gRPC through nginx's grpc_pass and HAProxy's h2, as they are after
# installation; and the rules of docs/security.md that keep paths from passing them.
#
#      curl --HTTP--> A --gRPC--> proxy --gRPC--> C --HTTP--> D
PATH=$PATH:/usr/sbin:/sbin # a person's has no daemons
. "$(dirname "$0")/system.sh"
. "$(dirname "$0")/grpc_proxied.sh"
need curl nginx haproxy python3
document=$1/docs/security.md
nginx -V 2>&1 | grep -q http_v2 || {
    echo 'skipped: this nginx has no HTTP/2'
    exit 77
}
GRPC_VERBOSITY=NONE
export GRPC_VERBOSITY

# rule PROXY NAME: the block of the document that begins with ```PROXY NAME.
rule() {
    awk -v tag="\`\`\`$1 $2" '/^```$/ { inside = 0 } inside; $0 == tag { inside = 1; found = 1 }
        END { exit !found }' "$document" || fail "$document has no block $1 $2"
}

# page NAME [PARAMETERS]: what A answers that calls C through $proxy, if it is asked with these;
# the path to NAME.txt.
page() {
    start "a-$1" "$CPT_HELPERS/grpc_chain" A --listen 127.0.0.1:0 --trust 127.0.0.0/8 \
        --to "m=127.0.0.1:$proxy"
    await "a-$1.out" 'listens on'
    ask "http://$(sed -n 's/.*listens on //p' "a-$1.out")/?$1" "$1" \
        "critical-path: 1;forced${2:-}"
    head -1 "$1" | grep -q ' 200' || fail "$1: $(head -1 "$1")"
    [ "$(tail -c +3 "$1.body")" = "$1" ] || fail "$1: the body is $(cat "$1.body")"
    "$CPT" metadata <"$1" >"$1.txt" || fail "$1: $(cat "$1.txt")"
}

start d "$CPT_HELPERS/grpc_chain" D --listen 127.0.0.1:0
await d.out 'listens on'
start c "$CPT_HELPERS/grpc_chain" C --listen 127.0.0.1:0 \
    --to "d=http://$(sed -n 's/.*listens on //p' d.out)"
await c.out '^grpc '
upstream=127.0.0.1:$(sed -n 's/^grpc //p' c.out)

say 'paths pass both proxies'
for by in nginx haproxy; do
    "by_$by" "$by"
    page "$by"
    grep -q 'C: stock' "$by.txt" || fail "$by: $(cat "$by.txt")"
    if grep -q 'blind spot' "$by.txt"; then fail "$by: $(cat "$by.txt")"; fi
    if grep -q 'drag' "$by.txt"; then fail "$by: not asked for: $(cat "$by.txt")"; fi
    page "$by-drags" ';drag'
    grep -q 'D: .*drag' "$by-drags.txt" || fail "$by: $(cat "$by-drags.txt")"
done

say 'nginx keeps asks out, or paths in'
by_nginx nginx-asks "$(rule nginx-grpc asks)"
page nginx-asks
by_nginx nginx-paths "$(rule nginx-grpc paths)"
page nginx-paths

say 'HAProxy keeps asks out'
by_haproxy haproxy-asks "$(rule haproxy-grpc asks)"
page haproxy-asks
for name in nginx-asks nginx-paths haproxy-asks; do
    grep -q 'blind spot' "$name.txt" || fail "$name: $(cat "$name.txt")"
    if grep -q 'C: stock' "$name.txt"; then fail "$name: $(cat "$name.txt")"; fi
done
say 'all is well'
