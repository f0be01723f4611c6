# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# cpt FILE with spans: of other tracers, with notes of our services, in a folder, compressed
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../spans.sh"
cp "$here/../../data/spans/traces.json" .
gzip -k traces.json
mkdir spans
cp traces.json spans
{
    span 1 1 '' 1 60000001 "request entry=A:%20%2f latency=50000000 by=$(id 2)"
    span 1 2 "$(id 1)" 1 60000001 'task name=A:%20t2 ready=0 start=0 end=50000000'
} >notes.json
for file in traces.json traces.json.gz spans notes.json; do
    echo "-- $file"
    cpt $file | sed '/^      /d'
done
cpt traces.json --json | tail -3
echo '-- what is none'
echo '{"a": 1}' >other.json
head -c 900 traces.json >cut.json
for file in other.json cut.json; do
    cpt $file | head -3
done
cpt other.json 2>/dev/null
echo $?
echo '-- a large file: its beginning'
{
    i=0
    cat traces.json
    while [ $i -lt 300 ]; do
        cat pad 2>/dev/null || { awk 'BEGIN { for (i = 0; i < 300000; i++) print "" }' >pad; cat pad; }
        i=$((i + 1))
    done
} >large.json
cpt large.json | sed '/^next/q'
