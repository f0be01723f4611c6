# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# grpc_proxied.sh - sourced behind system.sh: nginx's grpc_pass and HAProxy's h2, as they are
# after installation, in front of the service of gRPC at $upstream.
# shellcheck shell=sh
# A free port; another program may take it meanwhile, so there are a few tries.
free_port() {
    python3 -c '
import socket
held = socket.socket()
held.bind(("127.0.0.1", 0))
print(held.getsockname()[1])'
}

# listens PORT: whether that process listens soon.
listens() {
    for _ in $(seq 100); do
        python3 -c "import socket; socket.create_connection(('127.0.0.1', $1), 5)" 2>try.err &&
            return 0
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# by_nginx NAME [LINES]: nginx in front of gRPC at $upstream, listening on $proxy.
by_nginx() {
    for _ in 1 2 3 4 5; do
        proxy=$(free_port)
        cat >"$1.conf" <<END
pid $PWD/$1.pid;
error_log $PWD/$1.log;
daemon off;
events {}
http {
    access_log off;
    client_body_temp_path $PWD/$1.0; proxy_temp_path $PWD/$1.4;
    fastcgi_temp_path $PWD/$1.1; uwsgi_temp_path $PWD/$1.2; scgi_temp_path $PWD/$1.3;
    server { listen 127.0.0.1:$proxy http2; location / { grpc_pass grpc://$upstream; ${2:-} } }
}
END
        start "$1" nginx -e "$PWD/$1.log" -p "$PWD" -c "$PWD/$1.conf"
        listens "$proxy" && return 0
    done
    fail "nginx does not start: $(cat "$1.err" "$1.log")"
}

# by_haproxy NAME [LINE]: the same with HAProxy.
by_haproxy() {
    for _ in 1 2 3 4 5; do
        proxy=$(free_port)
        cat >"$1.cfg" <<END
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend in
    bind 127.0.0.1:$proxy proto h2
    ${2:-}
    default_backend out
backend out
    server s $upstream proto h2
END
        start "$1" haproxy -db -f "$1.cfg"
        listens "$proxy" && return 0
    done
    fail "HAProxy does not start: $(cat "$1.err")"
}
