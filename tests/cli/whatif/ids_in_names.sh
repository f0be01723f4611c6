# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# ids in names: over half of the events have too few requests, and the output says of what
requests() { # FROM TO
    for i in $(seq "$1" "$2"); do
        printf '{"data":[{"traceID":"%032x","processes":{"f":{"serviceName":"front"},"c":{"serviceName":"cart"}},"spans":[' "$i"
        printf '{"traceID":"%032x","spanID":"1","operationName":"/user/%d","processID":"f","startTime":%d,"duration":900},' \
            "$i" $((i * i % 11)) "${i}000000"
        printf '{"traceID":"%032x","spanID":"2","operationName":"get","processID":"c","startTime":%d,"duration":400,' \
            "$i" "${i}000100"
        printf '"references":[{"refType":"CHILD_OF","spanID":"1"}]}]}]}\n'
    done
}
requests 1 30 >first.json
requests 31 60 >second.json
cpt whatif first.json second.json | head -3
cpt slack second.json first.json | sed -n 3p
cpt busy first.json second.json | sed -n 2p
echo '== of those that are selected'
cpt slack --since 1970-01-01T00:00:40Z first.json second.json | head -3
for command in whatif slack busy; do
    cpt "$command" --json first.json second.json | head -1 | grep -o '"learnt_events.*"server_calls'
done
echo '== the walk does not learn'
cpt slack --waits walk first.json second.json | sed -n 3p
