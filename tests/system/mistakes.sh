# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# mistakes.sh PROGRAM - mistakes in a program with cpt_service_main() that else would show when
# a request comes: it says what is wrong, and does not serve. PROGRAM is mistaken.c.
. "$(dirname "$0")/system.sh"
program=$1

# refuses MISTAKE STATUS SENTENCE FLAGS...
refuses() {
    export MISTAKE="$1"
    expected=$2
    sentence=$3
    shift 3
    status=0
    "$program" --listen 127.0.0.1:0 "$@" >out 2>err || status=$?
    [ "$status" = "$expected" ] || fail "$MISTAKE: exit $status: $(cat err)"
    [ "$(cat err)" = "a: $sentence" ] || fail "$MISTAKE: $(cat err)"
}

say 'methods that no path is like'
refuses 'no slash' 1 "method \"GET items/{id}\": a path begins with '/', as \"GET /a\"" --to price=http://127.0.0.1:9
refuses 'query' 1 "method \"/items?id\": a path ends before '?' and '#'" --to price=http://127.0.0.1:9

say 'a stub that a row of a component calls, and that is not listed'
refuses 'forgotten stub' 1 \
    "task 'level' calls 'stock: /level', which is not listed in .stubs (CPT_STUBS)" --to price=http://127.0.0.1:9

say 'a stub without ": " in its name is called by all of it'
refuses 'simple stub' 2 "it calls 'simple': needs --to simple=URL" --to price=http://127.0.0.1:9
refuses 'simple stub' 2 \
    "wrong value of --to: simpl=x (no stub is of the service 'simpl'; there are 'price' 'simple')" --to simpl=x

say 'a file of settings that is not there is no error, and is told'
start settings env MISTAKE=none "$program" --listen 127.0.0.1:0 --to price=http://127.0.0.1:9 --settings nowhere
await settings.out 'a listens on'
grep -q '^a: nowhere is not there yet' settings.err || fail "$(cat settings.err)"
