# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# proxies.sh - an entry behind nginx and HAProxy, as they are after installation: a
# stranger comes from the loopback, and neither says so by a header. Asks of strangers
# are not heeded, and bodies pass unchanged.
PATH=$PATH:/usr/sbin:/sbin # a person's has no daemons
. "$(dirname "$0")/system.sh"
need curl nginx haproxy python3

# Two free ports; another program may take one meanwhile, so there are a few tries.
free_ports() {
    python3 -c '
import socket
held = [socket.socket() for _ in range(2)]
for one in held:
    one.bind(("127.0.0.1", 0))
print(*[one.getsockname()[1] for one in held])'
}

# counter URL NAME: the value of a counter of the service.
counter() {
    curl -s --max-time 20 "$1/cpt/counters" | sed -n "s/.*\"name\":\"$2\",\"value\":\([0-9]*\).*/\1/p"
}

# begin NAME PORT COMMAND...: starts it; whether PORT then answers.
begin() {
    begun=$1
    port=$2
    shift 2
    start "$begun" "$@"
    for _ in $(seq 100); do
        curl -s -o "$begun.first" --max-time 5 "http://127.0.0.1:$port/echo" && return 0
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# proxies SERVICE_URL [NGINX_LINE] [HAPROXY_LINE]: both in front of it, at $by_nginx and
# $by_haproxy.
proxies() {
    upstream=${1#http://}
    for _ in 1 2 3 4 5; do
        # shellcheck disable=SC2046
        set -- "$1" "${2:-}" "${3:-}" $(free_ports)
        cat >nginx.conf <<END
pid $PWD/nginx.pid;
error_log $PWD/nginx.log;
daemon off;
events {}
http {
    access_log off;
    client_body_temp_path $PWD/nginx.body; proxy_temp_path $PWD/nginx.proxy;
    fastcgi_temp_path $PWD/nginx.1; uwsgi_temp_path $PWD/nginx.2; scgi_temp_path $PWD/nginx.3;
    server { listen 127.0.0.1:$4; location / { proxy_pass http://$upstream; $2 } }
}
END
        cat >haproxy.cfg <<END
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    $3
frontend in
    bind 127.0.0.1:$5
    default_backend out
backend out
    server s $upstream
END
        by_nginx=http://127.0.0.1:$4
        by_haproxy=http://127.0.0.1:$5
        begin nginx "$4" nginx -e "$PWD/nginx.log" -p "$PWD" -c "$PWD/nginx.conf" &&
            begin haproxy "$5" haproxy -db -f haproxy.cfg && return 0
    done
    fail "a proxy does not start: $(cat nginx.err nginx.log haproxy.err)"
}

# is_untraced URL: an ask of a stranger is not heeded, and the answer is the same.
is_untraced() {
    ask "$1/echo" asked 'critical-path: 1;forced'
    grep -q '^HTTP/1.[01] 200' asked || fail "$1: $(head -1 asked)"
    [ -z "$(path_of asked)" ] || fail "a stranger reads the path through $1"
}

# passes URL: bodies with a length and in chunks come back unchanged.
passes() {
    curl -s --max-time 20 --data-binary @body -o with_length "$1/echo"
    curl -s --max-time 20 --data-binary @body -H 'Transfer-Encoding: chunked' -o in_chunks "$1/echo"
    cmp body with_length || fail "$1: another body, sent with its length"
    cmp body in_chunks || fail "$1: another body, sent in chunks"
}

head -c 300000 /dev/urandom >body

say 'an entry with the default options trusts none of them'
start entry "$CPT_HELPERS/entry_service"
entry=$(url entry)
proxies "$entry"
for through in "$entry" "$by_nginx" "$by_haproxy"; do
    is_untraced "$through"
    passes "$through"
done
[ "$(counter "$entry" refused_untrusted)" = 3 ] || fail 'refused asks are not counted'
[ "$(counter "$entry" traced_by_ask)" = 0 ] || fail 'an ask is heeded'

say 'one that is told to trust the loopback does not trust what a proxy forwards'
start trusting "$CPT_HELPERS/entry_service" 127.0.0.0/8
entry=$(url trusting)
proxies "$entry" 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;' 'option forwardfor'
is_untraced "$by_nginx"
is_untraced "$by_haproxy"
ask "$entry/echo" own 'critical-path: 1;forced'
[ -n "$(path_of own)" ] || fail 'a person on this machine gets no path'
say 'all is well'
