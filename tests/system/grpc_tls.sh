# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# grpc_tls.sh - makes the certificates of grpc_certificates.c, and runs it.
. "$(dirname "$0")/system.sh"
need openssl
GRPC_VERBOSITY=NONE
GRPC_DNS_RESOLVER=native # c-ares of Debian leaks the names that it was asked for
export GRPC_VERBOSITY GRPC_DNS_RESOLVER
rm -rf files
mkdir files
cd files

# authority NAME; certificate NAME AUTHORITY ALTERNATIVES
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
        -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" 2>openssl.err || fail "$(cat openssl.err)"
}
certificate() {
    printf 'subjectAltName=%s\n' "$3" >extensions
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
        -keyout "$1.key" -out request 2>openssl.err &&
        openssl x509 -req -in request -CA "$2.pem" -CAkey "$2.key" -CAcreateserial \
            -days 1 -extfile extensions -out "$1.pem" 2>openssl.err || fail "$(cat openssl.err)"
    chmod 600 "$1.key"
}
authority ca
authority strange-ca
certificate server ca DNS:localhost,IP:127.0.0.1
certificate other ca DNS:other.shop
certificate tools ca DNS:tools.shop
certificate renewed strange-ca DNS:localhost
certificate stranger strange-ca DNS:tools.shop
cp server.key open.key
chmod 644 open.key
echo 'no certificate' >text.pem
cat server.pem ca.pem | head -c "$(($(wc -c <server.pem) + 200))" >cut.pem
"$CPT_HELPERS/grpc_certificates"
