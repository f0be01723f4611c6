# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# tls.sh - services of examples/shop/ that call each other by TLS, with certificates that
# are made here; curl, openssl and nginx at the other end.
. "$(dirname "$0")/system.sh"
need curl openssl

# authority NAME; certificate NAME AUTHORITY ALTERNATIVES [OPTIONS]: NAME.pem, NAME.key.
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 \
        -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" 2>/dev/null || fail "openssl: $1"
}
certificate() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
        -addext "subjectAltName=$3" -keyout "$1.key" -out "$1.csr" 2>/dev/null
    echo "subjectAltName=$3" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial \
        -days "${4:-1}" -extfile "$1.ext" -out "$1.pem" 2>/dev/null || fail "openssl: $1"
    chmod 600 "$1.key"
}

# serve SERVICE FLAGS...: starts it; $url is where it listens.
serve() {
    name=$1
    shift
    start "$name" "$CPT_EXAMPLES/shop_$name" --listen 127.0.0.1:0 "$@"
    await "$name.out" "$name listens on"
    url=https://$(sed -n "s/^$name listens on //p" "$name.out")
}

# metric NAME: of the front, by its port for operators.
metric() {
    curl -s "$operators/metrics" | awk -v name="$1" '$1 ~ "^" name "({|$)" { sum += $2 }
        END { print sum + 0 }'
}

rm -f ./*.pem ./*.key ./*.csr ./*.ext ./*.srl
authority people
authority strangers
certificate front people DNS:localhost,IP:127.0.0.1,URI:spiffe://shop/front
certificate inner people DNS:localhost,IP:127.0.0.1
certificate tools people DNS:tools.shop
certificate visitor people DNS:visitor.shop
certificate evil strangers DNS:tools.shop,DNS:localhost,IP:127.0.0.1

say 'services that only take calls with a certificate of their people'
inner="--tls-certificate inner.pem --tls-key inner.key --tls-clients people.pem
    --tls-clients-only --tls-ca people.pem"
serve catalogue $inner
catalogue=$url
serve price $inner --workers 4
price=$url
serve stock $inner
stock=$url
serve front --tls-certificate front.pem --tls-key front.key --tls-clients people.pem \
    --tls-ca people.pem --trust dns:tools.shop --probability 0 --operators 127.0.0.1:0 \
    --to "catalogue=$catalogue,price=$price,stock=$stock"
front=$url
front_pid=$pid
operators=http://$(sed -n 's/^front tells operators on //p' front.out)

# page CURL-OPTIONS: of item 11; its head is in `head`.
page() {
    curl -s --max-time 20 --cacert people.pem -D head -o body \
        -H 'critical-path: 1;forced' "$@" "$front/page?11"
}
is_traced() {
    grep -qi '^critical-path-bin' head
}

say 'a page, of three services by TLS'
page || fail "curl: $?"
grep -q '^item 11, load [0-9]*: ' body || fail "$(cat body)"
! is_traced || fail 'a stranger was given the path'

say 'the path of one who may ask goes through both hops, and adds up'
page --cert tools.pem --key tools.key
is_traced || fail "$(cat head)"
"$CPT" metadata "$(path_of head)" >path
grep -q '[a-z]: ‹network+serialization›' path || fail "$(cat path)"
awk 'NR == 1 { all = $4 } /^ *[0-9.]+ +[0-9.]+%/ { sum += $1 } END {
    if (all == 0 || sum - all > 0.01 || all - sum > 0.01) { print sum, "of", all; exit 1 } }' \
    path || fail "it does not add up: $(cat path)"
page --cert visitor.pem --key visitor.key
! is_traced || fail 'another certificate was given the path'
! page --cert evil.pem --key evil.key || fail 'a certificate of others was taken'
[ "$(metric cpt_http_tls_failed_certificate_total)" = 1 ] || fail 'it is not counted'

say 'a caller without a certificate, and a client that does not know the people'
! curl -s --max-time 20 --cacert people.pem "$price/price?1" >/dev/null || fail 'served'
! curl -s --max-time 20 "$front/page?11" >/dev/null || fail 'curl believed it'
[ "$(curl -s --max-time 20 -o body -w '%{http_code}' "http://${front#https://}/")" = 400 ] ||
    fail 'http is not refused'
grep -q 'this port takes TLS only' body || fail "$(cat body)"
openssl s_client -connect "${front#https://}" -alpn http/1.1 -CAfile people.pem \
    </dev/null >s_client 2>&1 || true
grep -q '^ALPN protocol: http/1.1' s_client || fail 'no ALPN'

say 'certificates are read again'
certificate front people DNS:localhost,IP:127.0.0.1 2
serial=$(openssl x509 -in front.pem -noout -serial)
# shown: the serial number of the certificate that the front shows.
shown() {
    openssl s_client -connect "${front#https://}" </dev/null 2>/dev/null |
        openssl x509 -noout -serial
}
[ "$(shown)" != "$serial" ] || fail 'too early'
kill -HUP "$front_pid"
tries=200
until [ "$(shown)" = "$serial" ]; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "not read: $(cat front.err)"
    sleep 0.1
done
page --cert tools.pem --key tools.key
is_traced || fail "$(cat head)"
[ "$(metric cpt_http_tls_expires_unix_seconds)" -gt 90000 ] || fail 'no expiry'

say 'bad ones are not'
cp front.key good.key
echo nonsense >front.key
kill -HUP "$front_pid"
await front.err 'front.key: it has no key'
await front.err 'the certificates before it stay'
[ "$(metric cpt_http_tls_reloads_refused_total)" = 1 ] || fail 'it is not counted'
page || fail 'it does not serve'
mv good.key front.key

say 'a service that is not believed is not called; the reason says why'
certificate late people DNS:localhost,IP:127.0.0.1 1
start other "$CPT_EXAMPLES/shop_stock" --listen 127.0.0.1:0 --tls-certificate evil.pem \
    --tls-key evil.key
await other.out 'stock listens on'
other=https://$(sed -n 's/^stock listens on //p' other.out)
start mistaken "$CPT_EXAMPLES/shop_front" --listen 127.0.0.1:0 --tls-ca people.pem \
    --tls-certificate front.pem --tls-key front.key \
    --to "catalogue=$catalogue,price=$price,stock=$other"
await mistaken.out 'front listens on'
curl -s --max-time 20 --cacert people.pem -o body \
    "https://$(sed -n 's/^front listens on //p' mistaken.out)/page?11" || true
await mistaken.err "could not be reached at $other.*unable to get local issuer certificate"

say 'flags that make no sense'
for flags in '--tls-key front.key' '--tls-clients people.pem' '--tls-certificate none.pem' \
    '--tls-certificate front.pem' \
    '--tls-certificate front.pem --tls-key front.key --tls-clients-only'; do
    if "$CPT_EXAMPLES/shop_price" --listen 127.0.0.1:0 $flags >flags 2>&1; then
        fail "$flags: served"
    fi
    grep -q '^price: ' flags || fail "$flags: $(cat flags)"
done

say 'nginx in front of a service, and behind a call'
if command -v nginx >/dev/null 2>&1; then
    cat >nginx.conf <<CONF
pid $PWD/nginx.pid;
error_log $PWD/nginx.err;
daemon off;
events { }
http {
    access_log off;
    client_body_temp_path $PWD/body_temp; proxy_temp_path $PWD/proxy_temp;
    fastcgi_temp_path $PWD/f_temp; uwsgi_temp_path $PWD/u_temp; scgi_temp_path $PWD/s_temp;
    server {
        listen unix:$PWD/nginx.sock;
        location / {
            proxy_pass $front;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_ssl_trusted_certificate $PWD/people.pem;
            proxy_ssl_verify on;
            proxy_ssl_name localhost;
        }
    }
}
CONF
    start nginx nginx -p "$PWD" -c "$PWD/nginx.conf"
    tries=100
    until curl -s --unix-socket nginx.sock -o body 'http://localhost/page?11'; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || fail "nginx: $(cat nginx.err)"
        sleep 0.1
    done
    grep -q '^item 11, load ' body || fail "nginx: $(cat body nginx.err)"
fi
