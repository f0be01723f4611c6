# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# web_asks.sh - shared by the tests that ask a cpt web; sourced after system.sh.
need curl jq

# serve NAME ARGUMENTS...: starts a server; $at is its address, $token what is said there.
serve()
{
    name=$1
    start "$@"
    await "$name.out" 'Ctrl-C ends it'
    at=$(sed -n 's|^cpt web: \(http://[^ /]*\)/[^ ]* .*|\1|p' "$name.out")
    token=$(sed -n 's|^cpt web: http://[^ /]*/?token=\([0-9a-f]*\) .*|\1|p' "$name.out")
    [ -n "$at" ] || fail "no address in $(cat "$name.out")"
}

# get PATH [NAME=VALUE...]: the body; parameters are encoded here.
get()
{
    path=$1
    shift
    for parameter in "$@"; do
        set -- "$@" --data-urlencode "$parameter"
        shift
    done
    curl -s --max-time 60 -G "$at$path" "$@"
}

# status PATH [CURL OPTION...]: the status of HTTP.
status()
{
    path=$1
    shift
    curl -s --max-time 60 -o status.body -w '%{http_code}' "$@" "$at$path"
}

# refused STATUS WORDS PATH [NAME=VALUE...]: an error with these words.
refused()
{
    wanted=$1
    words=$2
    path=$3
    shift 3
    for parameter in "$@"; do
        set -- "$@" --data-urlencode "$parameter"
        shift
    done
    got=$(status "$path" -G "$@")
    [ "$got" = "$wanted" ] || fail "$path $*: $got, not $wanted: $(cat status.body)"
    jq -r .error status.body | grep -q -- "$words" ||
        fail "$path $*: '$words' is not in $(cat status.body)"
}

# read_all RECORDS: waits until this count of records has been read.
read_all()
{
    tries=200
    while [ "$(get /api/summary | jq .records)" != "$1" ]; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || fail "not $1 records: $(get /api/summary)"
        sleep 0.1
    done
}
