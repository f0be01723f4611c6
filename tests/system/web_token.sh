# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# web_token.sh MAKE_LOG - cpt web on an address that others reach: nothing is answered
# without the token of its address, which is private, lasts, and does not leave the page.
. "$(dirname "$0")/system.sh"
. "$(dirname "$0")/web_asks.sh"
make_log=$1

end_server()
{
    kill "$pid"
    wait "$pid" || fail "$name ended with $?"
}

rm -rf ./*.cptlog* .cpt-web-token logs graphs state spans link.cptlog real
"$make_log" experiment >a.cptlog
for service in A B C; do
    "$(dirname "$make_log")/make_graphs" $service 40 >$service.cptgraph
done
export XDG_STATE_HOME="$PWD/state"

say 'on loopback there is no token'
for address in 127.0.0.1 127.0.0.2 ::1 ::ffff:127.0.0.1; do
    case $address in *:*) [ -e /proc/net/if_inet6 ] || continue ;; esac
    serve loopback "$CPT" web --listen $address a.cptlog
    grep -q token loopback.out && fail "$address: $(cat loopback.out)"
    end_server
done
[ ! -e .cpt-web-token ] && [ ! -e state ] || fail 'a token was made'

say 'beyond loopback nothing is answered without it'
serve all "$CPT" web --listen 0.0.0.0 --graphs A.cptgraph --graphs B.cptgraph --graphs C.cptgraph a.cptlog
[ ${#token} = 32 ] || fail "the token is '$token': $(cat all.out)"
first=$token
port=${at##*:}
at=http://127.0.0.1:$port
paths='/ /whatif /api/summary /api/complete?text=a /api/view /api/view?by=name /api/records /api/record?id=1-0
    /api/whatif /nothing /favicon.ico'
for path in $paths; do
    [ "$(status "$path")" = 403 ] || fail "$path is answered: $(cat status.body)"
    grep -q 'token' status.body || fail "$path does not say why: $(cat status.body)"
    grep -q "$token" status.body && fail "$path tells the token"
done
for wrong in '' 0 "${token}0" "${token%?}" "${token%?}g" "$(printf '%s' "$token" | tr a-f A-F)x" "${token}%00" "$token,$token" \
    "$token&token=0" "%20$token" "${token}%20" "$token$token" "00000000000000000000000000000000"; do
    [ "$(status "/api/summary?token=$wrong" -g)" = 403 ] || fail "token=$wrong is believed"
    for scheme in Bearer Basic ''; do
        [ "$(status /api/summary -H "Authorization: $scheme $wrong")" = 403 ] || fail "$scheme '$wrong' is believed"
    done
done
[ "$(status /api/summary -H "Authorization: Basic $token")" = 403 ] || fail 'another scheme'
[ "$(status /api/summary -H "Cookie: token=$token")" = 403 ] || fail 'a cookie is believed'
[ "$(status "/api/summary?tokens=$token")" = 403 ]
[ "$(status "/api/summary?Token=$token")" = 403 ]
[ "$(status "/api/summary" -H "Referer: $at/?token=$token")" = 403 ] || fail 'a referer is believed'
[ "$(status "/api/summary?a=$token&xtoken=$token")" = 403 ]

say 'with it all is answered, whether in the query or as a header'
read_with() # the number of records, when they have been read
{
    tries=200
    while [ "$(get /api/summary token="$token" | jq .records)" != "$1" ]; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || fail "not $1 records"
        sleep 0.1
    done
}
read_with "$("$CPT" log --json a.cptlog | wc -l)"
for path in $paths; do
    case $path in *\?*) with="$path&token=$token" ;; *) with="$path?token=$token" ;; esac
    wanted=200
    case $path in /api/record\?* | /nothing | /favicon.ico) wanted=404 ;; esac
    [ "$(status "$with")" = $wanted ] || fail "$with: $(cat status.body)"
    [ "$(status "$path" -H "Authorization: Bearer $token")" = $wanted ] || fail "$path with the header"
    [ "$(status "$path" -H "authorization: bearer  $token")" = $wanted ] || fail "$path with a small header"
done
[ "$(status "/api/summary?token=0&token=$token")" = 200 ] || fail 'the last one counts'
# it is no parameter: it takes the place of none, and changes no answer
[ "$(status "/api/view?$(seq -s '&' -f 'where=arm!%%3D%g' 1 32)&token=$token")" != 400 ] || fail "$(cat status.body)"
get /api/view token="$token" where=arm=control >query.json
curl -s "$at/api/view?where=arm%3Dcontrol" -H "Authorization: Bearer $token" | cmp - query.json
get /api/whatif token="$token" 'set=B: B2=0' | jq -e '.requests == 40 and (.terms | length) == 1' >/dev/null ||
    fail 'the token became a term'

say 'errors and foreign hosts are as without'
[ "$(status "/api/summary?token=$token" -H "Host: evil.example:$port")" = 403 ] || fail 'DNS rebinding'
[ "$(status "/api/summary?token=$token" -H 'Sec-Fetch-Site: cross-site')" = 403 ] || fail 'a page of another site'
[ "$(status "/api/summary?token=$token" -X POST)" = 405 ]
refused 400 "unknown parameter 'wher'" "/api/view?token=$token" wher=x
address=$(ip -4 -o addr show scope global 2>/dev/null | sed -n '1s/.* inet \([0-9.]*\).*/\1/p')
if [ -n "$address" ]; then
    [ "$(status "/api/summary?token=$token" -H "Host: $address:$port")" = 200 ] || fail "an own address is refused"
fi

say 'pages carry it in their links and forms, and send it nowhere'
ask "$at/whatif?token=$token" page
grep -qi '^referrer-policy: no-referrer' page
grep -qi '^cache-control: no-store' page
grep -qi '^set-cookie' page && fail 'a cookie'
grep -q "name=\"token\" value=\"$token\"" page.body || fail 'the form has no token'
grep -q "href=\"/?token=$token\"" page.body || fail 'no link to the page'
grep -q "href=\"/whatif?token=$token\"" page.body || fail 'no link to the sliders'
[ "$(status "/whatif?token=$token&terms=frobnicate")" = 400 ]
grep -q "href=\"/?token=$token\"" status.body || fail "an error has no way back: $(cat status.body)"
[ "$(status '/?where=a' -D headers)" = 403 ]
grep -qi '^content-type: text/html' headers || fail 'a page for a reader'
grep -qi '^referrer-policy: no-referrer' headers
grep -q 'href="/"' status.body && fail 'a link that leads here again'
end_server

say 'links last: the token is in a private file beside the log'
grep -q "kept in .*\.cpt-web-token" all.out || fail "$(cat all.out)"
[ "$(stat -c %a .cpt-web-token)" = 600 ] || fail "the mode is $(stat -c %a .cpt-web-token)"
[ "$(cat .cpt-web-token)" = "$first" ] || fail 'another token is kept'
serve again "$CPT" web --listen 0.0.0.0 --port "$port" a.cptlog
[ "$token" = "$first" ] || fail 'the link is gone'
[ "$(status "/api/summary?token=$first")" = 200 ]
end_server
umask 000
mkdir logs && cp a.cptlog logs/
serve folder "$CPT" web --listen 0.0.0.0 logs
[ "$token" != "$first" ] && [ "$(cat logs/.cpt-web-token)" = "$token" ] || fail 'a folder has its own'
[ "$(stat -c %a logs/.cpt-web-token)" = 600 ] || fail 'the umask opens it'
end_server
umask 022
"$CPT" report logs >/dev/null 2>error && [ ! -s error ] || fail "the file disturbs: $(cat error)"
[ "$(ls -A logs | wc -l)" = 2 ] || fail "left behind: $(ls -A logs)"

say 'two that start at the same time have one token'
rm logs/.cpt-web-token
for i in 1 2 3 4 5 6; do
    start "twin$i" "$CPT" web --listen 0.0.0.0 logs
    twins="${twins-} $pid"
done
for i in 1 2 3 4 5 6; do
    await "twin$i.out" 'Ctrl-C ends it'
    sed -n 's|.*token=\([0-9a-f]*\) .*|\1|p' "twin$i.out"
done | sort -u >tokens
[ "$(wc -l <tokens)" = 1 ] || fail "tokens: $(cat tokens)"
for pid in $twins; do
    end_server
done

say 'a file that is no secret is refused, and the sentence says what to do'
cp .cpt-web-token kept
refuses() # WORDS
{
    status=0
    timeout 20 "$CPT" web --listen 0.0.0.0 a.cptlog >out 2>error || status=$?
    [ $status = 1 ] || fail "$1: it ends with $status"
    grep -q "$1" error || fail "no '$1' in $(cat error)"
    grep -q 'remove the file' error || fail "what to do? $(cat error)"
    grep -q 'http:' out && fail 'an address is printed'
    true
}
chmod 644 .cpt-web-token
refuses 'others can read'
chmod 600 .cpt-web-token
for bad in '' 'short' "$(cat kept)x" "$(cat kept | tr a-f A-F)Z"; do
    printf '%s\n' "$bad" >.cpt-web-token
    refuses 'has no token'
done
: >.cpt-web-token
refuses 'has no token'
rm .cpt-web-token

say 'where nothing can be kept beside the log, it is kept for the user'
mkdir real
ln -s "$PWD/real/token" .cpt-web-token # a link is not followed
serve state "$CPT" web --listen 0.0.0.0 a.cptlog
[ "$(cat state/cpt/web-token)" = "$token" ] || fail "$(cat state.out)"
[ "$(stat -c %a state/cpt/web-token)" = 600 ] && [ "$(stat -c %a state/cpt)" = 700 ] || fail 'it is not private'
[ -z "$(ls -A real)" ] || fail 'a link was followed'
end_server
kept=$token
serve state "$CPT" web --listen 0.0.0.0 a.cptlog
[ "$token" = "$kept" ] || fail 'the link is gone'
end_server
export XDG_STATE_HOME=/dev/null
serve nowhere "$CPT" web --listen 0.0.0.0 a.cptlog
grep -q 'cannot be kept' nowhere.out || fail "$(cat nowhere.out)"
[ "$(status "/api/summary?token=$token")" = 200 ] && [ "$(status /api/summary)" = 403 ]
end_server
rm .cpt-web-token

say 'spans have it beside them, not in the private copy'
mkdir spans
cat >spans/one.json <<'END'
[{"traceId": "1", "id": "a", "name": "get", "timestamp": 1700000000000000,
  "duration": 5000, "localEndpoint": {"serviceName": "A"}}]
END
if "$CPT" import spans/one.json -o one.cptlog 2>/dev/null; then
    serve spans "$CPT" web --listen 0.0.0.0 spans
    [ "$(cat spans/.cpt-web-token)" = "$token" ] || fail "$(cat spans.out)"
    end_server
fi
true
