# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --check: the times of cart in another window, put into the first one, and what came true.
# In NEW cart takes twice the time, and 0.4 ms more on its way; stock is as it was
span() { # SPAN PARENT PROCESS NAME START DURATION
    printf '{"traceID":"%032x","spanID":"%s","processID":"%s","operationName":"%s","startTime":%d,"duration":%d' \
        "$id" "$1" "$3" "$4" $((id * 1000000 + $5)) "$6"
    printf ',"references":[{"refType":"CHILD_OF","spanID":"%s"}],"tags":[{"key":"span.kind","value":"%s"}]}' \
        "$2" "${7:-server}"
}
open() {
    id=$1
    printf '{"data":[{"traceID":"%032x","processes":{"f":{"serviceName":"front"},"c":{"serviceName":"cart"},"s":{"serviceName":"stock"}},"spans":[' "$id"
}
window() { # FROM TO FACTOR WIRE
    for i in $(seq "$1" "$2"); do
        took=$(((2000 + i % 7 * 300) * $3)) wire=$4 stock=$((2500 + i % 5 * 100))
        out=$((took + wire))
        open "$i" # front, and cart behind its client's span
        span 1 '' f / 0 $((1000 + out + i % 3 * 50)) && printf ','
        span 2 1 f get 600 "$out" client && printf ','
        span 3 2 c get $((600 + wire / 2)) "$took"
        printf ']}]}\n'
        open $((i + 1000)) # both side by side
        long=$((stock > out ? stock : out))
        span 1 '' f /buy 0 $((300 + long + i % 3 * 50)) && printf ','
        span 2 1 f get 200 "$out" client && printf ','
        span 3 2 c get $((200 + wire / 2)) "$took" && printf ','
        span 4 1 s reserve 200 "$stock"
        printf ']}]}\n'
        open $((i + 2000)) # without cart
        span 1 '' f /stock 0 $((300 + stock)) && printf ','
        span 4 1 s reserve 200 "$stock"
        printf ']}]}\n'
    done
    open 9999 # of a kind that comes once
    span 1 '' f /once 0 700
    printf ']}]}\n'
}
window 1 40 1 200 >base.json
window 501 560 2 600 >new.json
cpt whatif --check --service cart base.json new.json
echo '== all services, as others read it'
cpt whatif --check --service '*' --format csv --sort name --columns name,times,predicted_ns,within base.json new.json |
    tr -d '\r'
cpt whatif --check --service cart --format markdown --top 1 base.json new.json | tail -6
echo '== nothing happened'
cpt whatif --check --service '*' base.json base.json | tail -5
echo '== folders, in any order'
mkdir before after
head -50 base.json >before/b.json
head -12 base.json >few.json
tail -n +51 base.json >before/a.json
cp new.json after
cpt whatif --check --service cart --json base.json new.json >check.json
cpt whatif --check --service cart --json before after | cmp - check.json
cpt whatif --check --service cart --waits walk --where 'method == "/buy"' before after | tail -3
cpt whatif --check --service cart --json --max-bytes 1k before after >less.json
if command -v python3 >/dev/null; then
    tests=$(cd "$(dirname "$0")/.." && pwd)
    for file in check less; do
        python3 "$tests/json_schema.py" --complete "$tests/../../docs/schemas/whatif.json" <$file.json || echo "$file.json breaks the schema"
    done
fi
echo '== no check'
. "$(dirname "$0")/requests.sh"
make_graphs A 8 >A.cptgraph
for line in '--service cart base.json' '--service cart before after new.json' '--check base.json new.json' \
    '--service carts base.json new.json' '--service * base.json A.cptgraph' '--service * base.json spans.json' \
    '--service cart --best 2 base.json new.json' '--service cart base.json absent.json' '--service cart base.json few.json'; do
    set -f
    cpt whatif --check $line >/dev/null
    echo "$?" >&2
    set +f
done
cpt whatif --service cart --set 'cart: get=0' base.json
