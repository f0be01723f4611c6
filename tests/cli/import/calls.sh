# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# calls of one service by another with the bytes of their bodies, from each format: by
# today's names and older ones, as numbers and as text, on either side; and what is none
cat >jaeger.json <<'END'
{"data":[{"traceID":"1","processes":{"p":{"serviceName":"front"},"q":{"serviceName":"cart"}},"spans":[
{"traceID":"1","spanID":"1","processID":"p","operationName":"GET /","startTime":100,"duration":90,"references":[]},
{"traceID":"1","spanID":"2","processID":"q","operationName":"read","startTime":110,"duration":20,
 "references":[{"refType":"CHILD_OF","traceID":"1","spanID":"1"}],
 "tags":[{"key":"http.request_content_length","value":"12"},{"key":"http.response.body.size","value":3400}]},
{"traceID":"1","spanID":"3","processID":"q","operationName":"read","startTime":140,"duration":20,
 "references":[{"refType":"CHILD_OF","traceID":"1","spanID":"1"}],
 "tags":[{"key":"http.request.body.size","value":-5},{"key":"http.response.body.size","value":"many"}]},
{"traceID":"1","spanID":"4","processID":"q","operationName":"own","startTime":145,"duration":5,
 "references":[{"refType":"CHILD_OF","traceID":"1","spanID":"3"}],
 "tags":[{"key":"http.request.body.size","value":7}]}]}]}
END
cat >zipkin.json <<'END'
[[{"traceId":"2","id":"1","kind":"SERVER","name":"get","timestamp":100,"duration":90,"localEndpoint":{"serviceName":"front"}},
{"traceId":"2","parentId":"1","id":"2","kind":"CLIENT","name":"ask","timestamp":110,"duration":50,"localEndpoint":{"serviceName":"front"},
 "tags":{"http.request.body.size":"90"}},
{"traceId":"2","parentId":"1","id":"2","kind":"SERVER","shared":true,"name":"ask","timestamp":115,"duration":40,"localEndpoint":{"serviceName":"cart"},
 "tags":{"http.request.body.size":"100","http.response.body.size":"18446744073709551616"}},
{"traceId":"2","parentId":"1","id":"4","kind":"CLIENT","name":"both","timestamp":162,"duration":7,"localEndpoint":{"serviceName":"front"},
 "tags":{"http.request.body.size":"80"}},
{"traceId":"2","parentId":"1","id":"4","shared":true,"name":"check","timestamp":163,"duration":1,"localEndpoint":{"serviceName":"policy"}},
{"traceId":"2","parentId":"1","id":"4","kind":"SERVER","shared":true,"name":"put","timestamp":165,"duration":2,"localEndpoint":{"serviceName":"cart"},
 "tags":{"http.request.body.size":"70"}},
{"traceId":"2","parentId":"1","id":"3","kind":"PRODUCER","name":"tell","timestamp":170,"duration":5,"localEndpoint":{"serviceName":"front"},
 "remoteEndpoint":{"serviceName":"queue"},"tags":{"messaging.message.body.size":"55"}}]]
END
for file in jaeger zipkin; do
    echo $file
    cpt import --calls $file.json
done
echo 'not with another output on standard output'
cpt import --calls --sections jaeger.json
cpt import --calls -o - jaeger.json
echo 'with a log'
cpt import --calls -o log.cptlog jaeger.json | wc -l
cpt log log.cptlog | wc -l
