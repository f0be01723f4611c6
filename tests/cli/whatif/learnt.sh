# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# who waited is learnt from all requests: front computes 300 us while its call of cart is
# out, which takes 200 to 480 us, and goes on for 50 us. Half of cart's time gives little
requests() { # FROM TO
    for i in $(seq "$1" "$2"); do
        took=$((200 + i % 8 * 40))
        end=$((took > 300 ? took : 300))
        printf '{"data":[{"traceID":"%032x","processes":{"f":{"serviceName":"front"},"c":{"serviceName":"cart"}},"spans":[' "$i"
        printf '{"traceID":"%032x","spanID":"1","operationName":"/","processID":"f","startTime":%d,"duration":%d},' \
            "$i" "${i}000000" $((100 + end + 50))
        printf '{"traceID":"%032x","spanID":"2","operationName":"get","processID":"c","startTime":%d,"duration":%d,' \
            "$i" "${i}000100" "$took"
        printf '"references":[{"refType":"CHILD_OF","spanID":"1"}]}]}]}\n'
    done
}
requests 1 80 >first.json
requests 81 160 >second.json
requests 81 99 >few.json
for waits in learnt walk; do
    echo "== $waits"
    cpt whatif --waits "$waits" --set 'cart: get=-50%' first.json second.json | head -4
    cpt whatif --waits "$waits" --json first.json second.json | head -1 | tr , '\n' |
        grep -E 'evidence|inferred|events|server_calls|resolution'
done
echo '== in any order, and from a pipe'
cpt whatif --set 'cart: get=-50%' first.json second.json >one
cpt whatif --set 'cart: get=-50%' second.json first.json | cmp - one
cat second.json first.json | cpt whatif --set 'cart: get=-50%' - | cmp - one
echo '== too few'
cpt slack few.json | head -2
echo '== of all, one is asked for'
cpt slack --trace 00000000000000000000000000000005 first.json | head -4
