# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# shop.sh LINES_MAX [BUILD] - the four services of examples/shop/, as processes with real HTTP:
# what cpt_service_main() does, and what the rows of calls do. The shop has at most LINES_MAX
# lines. With BUILD it is that of examples/shop_cpp/, which is compiled first.
. "$(dirname "$0")/system.sh"
need curl

examples=$(cd "$(dirname "$0")/../../examples" && pwd)
shop=$examples/shop
type=c
if [ $# -gt 1 ]; then
    build=$2
    . "$(dirname "$0")/cpp_build.sh"
    shop=$examples/shop_cpp
    type=cc
    CPT_EXAMPLES=.
    cxx=${compilers##* }
    say "the shop is compiled by $cxx, without a warning"
    for part in front catalogue price stock; do
        # shellcheck disable=SC2086
        $cxx $warnings $sanitize -g -I "$build/include" -o "shop_$part" "$shop/$part.cc" \
            $libraries $others || fail "$cxx: $part.cc"
    done
fi
say "the shop is small, and its README says how small"
for part in front catalogue price stock; do
    lines=$(wc -l <"$shop/$part.$type")
    grep -q "^| \`$part.$type\` | $lines |" "$shop/README.md" || fail "README: $part.$type has $lines lines"
done
lines=$(cat "$shop"/*.$type | wc -l)
[ "$lines" -le "$1" ] || fail "$lines lines, the limit is $1"
grep -q "$lines lines" "$shop/README.md" || fail "README: $lines lines in all"

# serve SERVICE FLAGS...: starts it; $url is where it listens.
serve() {
    name=$1
    shift
    start "$name" "$CPT_EXAMPLES/shop_$name" --listen 127.0.0.1:0 --counters "$@"
    await "$name.out" "$name listens on"
    url=http://$(sed -n "s/^$name listens on //p" "$name.out")
}

# counter URL NAME: the sum of a counter.
counter() {
    curl -s "$1/cpt/metrics" | awk -v name="$2" '
        $1 ~ "^[a-z_]*" name "(_total)?({|$)" { sum += $2 } END { print sum + 0 }'
}

say 'four services start'
mkdir -p log
rm -f log/*
serve catalogue
catalogue=$url
serve price --workers 4
price=$url
CPT_PROBABILITY=1 CPT_LOG=/nowhere serve stock --probability 0 --log log
stock=$url
CPT_TO="catalogue=$catalogue,price=http://127.0.0.1:9" serve front --to "price=$price,stock=$stock" \
    --trust 127.0.0.0/8 --probability 1 --log log
front=$url
front_pid=$pid

say 'a page, of three services at once'
tries=20 # a busy machine may miss the deadline for the price
until curl -s "$front/page?11" >page &&
    grep -q '^item 11, load [0-9]*: 1[0-9]* cents, 4 left$' page; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "$(cat page)"
done

# stacks QUERY: the frames of the path of a page.
stacks() {
    curl -s -D head -o body -H 'critical-path: 1;forced' "$front/page?$1" &&
        "$CPT" metadata "$(sed -n 's/^[Cc]ritical-[Pp]ath-[Bb]in: *//p' head | tr -d '\r')"
}

say 'a slow price: the deadline passes, the fallback is there, the wait is on the path'
stacks 19 >slow
grep -q '^item 19, load [0-9]*: -1 cents, 5 left$' body || fail "$(cat body)"
grep -q 'price: .timeout' slow || grep -q '‹timeout›' slow || fail "no timeout: $(cat slow)"
[ "$(counter "$front" call_fallbacks)" -ge 1 ] || fail 'no fallback is counted'

say 'a slow title: a second attempt runs beside the first; one load serves both'
stacks 20 >hedged
grep -q '^item 20, load ' body || fail "$(cat body)"
grep -q 'catalogue: disk' hedged || fail "$(cat hedged)"
[ "$(counter "$front" call_hedges)" -ge 1 ] || fail 'no hedge is counted'

say 'pages that ask for one title at once share its load'
tries=9
while :; do
    same=
    for i in 1 2 3 4; do
        curl -s "$front/page?${tries}0" >"same$i" &
        same="$same $!"
    done
    wait $same
    [ "$(sed 's/:.*//' same[1-4] | sort -u | wc -l)" != 1 ] || break
    tries=$((tries - 1)) # they were not there at once
    [ $tries -gt 0 ] || fail "$(cat same[1-4])"
done

say 'the database ran on a thread of its own, as a part of the request'
curl -s -o stocked -D head -H 'critical-path: 1' -d 12 "$stock/stock"
[ "$(cat stocked)" = 5 ] || fail "$(cat stocked)"
"$CPT" metadata "$(sed -n 's/^[Cc]ritical-[Pp]ath-[Bb]in: *//p' head | tr -d '\r')" >database
grep -q 'stock: look up' database || fail "$(cat database)"
grep -q 'stock: query' database || fail "$(cat database)"

say 'SIGHUP begins another file of the log'
sleep 1.2
before=$(find log -name 'front-*' | wc -l)
kill -HUP "$front_pid"
tries=100
while [ "$(find log -name 'front-*' | wc -l)" = "$before" ]; do
    curl -s -o page "$front/page?12"
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "no file after SIGHUP: $(ls log)"
    sleep 0.1
done

say 'SIGTERM ends each with 0, and the log is whole'
for pid in $started; do
    kill -TERM "$pid"
done
for pid in $started; do
    wait "$pid" || fail "process $pid ended with $?: $(cat ./*.err)"
done
started=
cat ./*.err
"$CPT" log --check log/front-* >/dev/null || fail 'the log is damaged'
"$CPT" log log/front-* >records
grep -q 'front: /page' records || fail "$(head -5 records)"

say 'wrong flags and variables end a service with 2 and a sentence'
# refuses PATTERN FLAGS...
refuses() {
    pattern=$1
    shift
    status=0
    "$CPT_EXAMPLES/shop_front" "$@" >out 2>err || status=$?
    [ "$status" = 2 ] || fail "exit $status after $*"
    grep -q -e "$pattern" err || fail "after $*: $(cat err)"
}
refuses 'needs --to catalogue=URL'
refuses "wrong value of --to: other=x (no stub is of the service 'other'; there are 'catalogue' 'price'" --to other=x
refuses 'wrong value of --to: price (SERVICE=URL, of' --to price
refuses "wrong value of --operators-of: other=:1 (no stub is of the service 'other'" --operators-of other=:1
refuses 'wrong value of --operators-of: price (SERVICE=HOST:PORT' --operators-of price
refuses 'wrong value of --probability: 2 (a number from 0 to 1)' --probability 2
refuses 'wrong value of --probability: nan' --probability nan
refuses 'wrong value of --listen: 127.0.0.1:65536' --listen 127.0.0.1:65536
refuses 'wrong value of --listen' --listen
refuses 'wrong value of --workers=0' --workers=0
refuses 'unknown flag --unknown' --unknown
refuses 'not a flag: word' word
CPT_WORKERS=many refuses 'wrong value of CPT_WORKERS: many'
"$CPT_EXAMPLES/shop_front" --help | grep -q -e '--operators-of SERVICE=HOST:PORT,.*(CPT_OPERATORS_OF)' || fail 'no help'
"$CPT_EXAMPLES/shop_front" --help | grep -q -e '--to SERVICE=URL,.*(CPT_TO)' || fail 'no help'
status=0
"$CPT_EXAMPLES/shop_stock" --listen 127.0.0.1:0 --log /nowhere/at/all >out 2>err || status=$?
[ "$status" = 1 ] && grep -q '^stock: /nowhere/at/all: there is no such directory' err || fail "exit $status: $(cat err)"
