# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the file again, with the path time of each span; all else is as it was
cat >jaeger.json <<'EOF'
{"total": 0, "data": [ {"traceID":"t","processes":{"p":{"serviceName":"A"}}, "spans":[
 {"traceID":"t","spanID":"a","operationName":"GET \"tags\":[]","processID":"p","startTime":1000,"duration":100,
  "tags":[{"key":"x","type":"string","value":"} ] \\\" é"}]},
 {"traceID":"t","spanID":"b","references":[{"refType":"CHILD_OF","traceID":"t","spanID":"a"}],"startTime":1010,"duration":30, "tags" : [ ] },
 {"traceID":"t","spanID":"c","references":[{"refType":"CHILD_OF","traceID":"t","spanID":"a"}],"startTime":1020,"duration":60,"tags":null},
 {"traceID":"t","spanID":"d","references":[{"refType":"CHILD_OF","traceID":"t","spanID":"c"}],"startTime":1030,"duration":20},
 {"traceID":"t","spanID":"e","tags":{"as":"fields"}}, 7, {}, {"tags":[]}
]}, {"traceID":"later", "spans":[]}, {"traceID":"u","spans":[{"spanID":"a","startTime":1,"duration":0}]} ] , "errors": null}

EOF
cpt import --annotate copy.json jaeger.json; echo "exit $?"
cat copy.json

cat >zipkin.json <<'EOF'
[{"traceId":"1","id":"1","timestamp":1000,"duration":9,"tags":{"a":"b"}},
 {"traceId":"2","id":"1","kind":"CLIENT","timestamp":1000,"duration":9,"tags":{}},
 {"traceId":"2","id":"1","kind":"SERVER","shared":true,"timestamp":1002,"duration":5},{"traceId":"2"},[]]
EOF
gzip <zipkin.json >zipkin.json.gz
cpt import --annotate - zipkin.json.gz; echo "exit $?"

cat >otlp.json <<'EOF'
{"resourceSpans": [{"scopeSpans": [{"spans": [
  {"traceId": "0a", "spanId": "b", "parentSpanId": "a", "startTimeUnixNano": "1020", "endTimeUnixNano": "1070",
   "attributes": [{"key": "cpt.path_ns", "value": {"intValue": "4"}}, {"key": "k", "value": {"stringValue": "v"}}]}]}],
 "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "A"}}]}}]}
{"resourceSpans": [{"instrumentationLibrarySpans": [{"spans": [
  {"attributes": [], "traceId": "a", "spanId": "a", "startTimeUnixNano": "1000", "endTimeUnixNano": "1100"}]}],
  "scopeSpans": [{"spans": [{"traceId": "a", "spanId": "x", "parentSpanId": "none", "startTimeUnixNano": "3", "endTimeUnixNano": "4"}]}]}]}
{"no": "spans"} {"traceID": "e", "spanID": "s", "startTime": 3, "duration": 1} {"spanID
EOF
cpt import --annotate copy.json otlp.json; echo "exit $?"
cat copy.json

# annotated files have the same sections, and annotating them again changes nothing; in place
for file in jaeger.json zipkin.json otlp.json; do
    cp $file again.json
    cpt import --sections $file >before.txt 2>/dev/null
    cpt import --annotate again.json again.json 2>/dev/null
    cmp -s $file again.json && echo "$file: not annotated"
    cp again.json once.json
    cpt import --sections --annotate again.json again.json >after.txt 2>/dev/null
    cmp before.txt after.txt && cmp again.json once.json
done

# a key that is written with escapes hides the place
cat >odd.json <<'EOF'
{"spans":[{"traceID":"t","\u0073panID":"a","startTime":1000,"duration":100}]}
{"spans":[{"traceID":"t2","spanID":"a","startTime":1000,"duration":100}]}
EOF
cpt import --annotate odd.json odd.json; echo "exit $?"
cat odd.json

# what cannot be: nothing is left behind
printf '\000\000\000\072\012\070\022\066\022\064' >some.pb
printf '\012\020\000\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017' >>some.pb
printf '\022\010\001\001\001\001\001\001\001\001\052\004ping' >>some.pb
printf '\071\000\000\000\000\000\000\000\000\101\100\102\017\000\000\000\000\000' >>some.pb
cpt import --annotate none some.pb; echo "exit $?"
cpt import --annotate none absent.json; echo "exit $?"
cpt import --annotate none - <zipkin.json; echo "exit $?"
cpt import --annotate none zipkin.json otlp.json; echo "exit $?"
cpt import --annotate - --sections zipkin.json; echo "exit $?"
gzip -c zipkin.json | head -c 40 >short.gz
cpt import --annotate none short.gz; echo "exit $?"
ls none* 2>/dev/null
