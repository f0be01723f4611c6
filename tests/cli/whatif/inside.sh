# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a span within an operation has no time of its own: a term for it is refused, and says
# where its time is, whatever the order of the files. What is on no path changes nothing
span() { # ID PARENT PROCESS OPERATION START DURATION [KIND]
    printf '%s{"traceID":"%032x","spanID":"%s","operationName":"%s","processID":"%s","startTime":%d,"duration":%d,' \
        "$comma" "$i" "$1" "$4" "$3" "$((i * 1000000 + $5))" "$6"
    printf '"references":[{"refType":"CHILD_OF","spanID":"%s"}],"tags":[{"key":"span.kind","value":"%s"}]}' "$2" "${7:-server}"
    comma=,
}
requests() { # FROM TO ENTRY
    for i in $(seq "$1" "$2"); do
        printf '{"data":[{"traceID":"%032x","processes":{"f":{"serviceName":"front"},"c":{"serviceName":"cart"}},"spans":[' "$i"
        comma=
        span 1 0 f "$3" 0 1000
        span 2 1 f render 50 900 internal
        span 3 2 c get 100 400
        span 4 2 c log 100 $((100 + i))
        span 5 3 c parse 150 100 internal
        span 6 3 f '/inner' 300 50
        span 7 6 f deep 310 20 internal
        echo ']}]}'
    done
}
requests 1 40 / >first.json
requests 41 80 /cart >second.json
ask() {
    echo "$*"
    cpt whatif "$@" || echo "exit $?"
}
{
    ask --set 'front: render=-50%' first.json
    ask --set 'front: render=-50%' first.json second.json
    ask --set 'front: render=-50%' second.json first.json
    ask --set 'front: render=-50%' --waits walk second.json
    ask --set 'front: deep=0' second.json
    ask --set 'cart: parse <network>=0' first.json
    ask --set 'car*: p*=0' first.json
    ask --cut 'cart: get -> cart: parse' first.json
    ask --add 'cart: parse -> cart: get' first.json
    ask --set 'cart: pars=0' first.json
    ask --set 'front: <queue>=0' first.json
} 2>&1 | sed 's/^cpt: /  /'
echo 'late: all is outside of its parent, so no response waits for it'
for i in $(seq 1 40); do
    printf '{"data":[{"traceID":"%032x","processes":{"f":{"serviceName":"front"},"l":{"serviceName":"late"}},"spans":[' "$i"
    comma=
    span 1 0 f / 0 1000
    span 2 1 l job 2000 300
    echo ']}]}'
done >late.json
cpt whatif --json --set 'late: *=-50%' late.json | sed -n 's/.*"mean":{[^{}]*"change_ns":\([-0-9.]*\).*"verdict":"\([a-z_]*\)".*/\1 \2/p'
cpt whatif --json --set 'late: *=-50%' --sweep 50% late.json | sed -n '/^{"name"/p'
echo 'cart: log ends before cart: get, and is never waited for'
cpt whatif --json --set 'cart: log=0' first.json | sed -n 's/.*"mean":{[^{}]*"change_ns":\([-0-9.]*\).*/\1/p; /^{"name"/p'
