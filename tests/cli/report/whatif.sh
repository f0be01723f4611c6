# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# spans that do not tell their waits can be asked what a faster service would give; the
# report says so to people, where the file was spans and some request of it is inferred
span() { # TRACE SPAN PARENT START DURATION
    printf '{"traceID":"%032x","spanID":"%s","operationName":"op","processID":"p%s","startTime":%d,"duration":%d,' \
        "$1" "$2" "$2" "$4" "$5"
    printf '"tags":[{"key":"span.kind","value":"server"}],"references":[%s]}' "${3:+{\"refType\":\"CHILD_OF\",\"spanID\":\"$3\"\}}"
}
for i in 1 2 3; do
    printf '{"data":[{"traceID":"%032x","processes":{"p1":{"serviceName":"A"},"p2":{"serviceName":"B"}},"spans":[' $i
    span $i 1 '' ${i}000000 500
    printf ,
    span $i 2 1 ${i}000100 300
    echo ']}]}'
done >spans.json
mkdir folder
cp spans.json folder/of-spans.json
cp spans.json 'of $HOME.json'
cp spans.json ./-dash.json
hint() {
    echo "-- $*"
    cpt report "$@" | grep 'whatif' || echo none
}
cpt report spans.json | head -4
hint --by service spans.json
hint folder
hint 'of $HOME.json'
hint -- -dash.json
sed 's/"traceID":"0/"traceID":"1/g' spans.json >others.json
hint spans.json others.json
echo '-- from standard input'
cpt report - <spans.json | grep whatif
echo '-- not for programs'
hint --json spans.json
hint --format markdown spans.json
hint --format csv spans.json
echo '-- not of a path log, nor where nothing is inferred'
cpt import spans.json -o spans.cptlog
hint spans.cptlog
. "$(dirname "$0")/../whatif/requests.sh"
cpt report spans.json | head -3
hint spans.json
