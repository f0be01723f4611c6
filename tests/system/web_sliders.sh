# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# web_sliders.sh - the page of sliders of spans that do not tell their waits: intervals
# and verdicts are those of cpt whatif, each slider moves what it names and nothing else,
# and names from outside are text. See web_sliders.py.
. "$(dirname "$0")/system.sh"
. "$(dirname "$0")/web_asks.sh"
here=$(cd "$(dirname "$0")" && pwd)
make_log=$1
need python3

rm -rf spans *.cptlog
mkdir spans
python3 "$here/web_sliders.py" spans spans/spans.json
"$make_log" experiment >a.cptlog
serve sliders "$CPT" web --graphs spans a.cptlog
"$CPT" whatif --json --sweep 50% spans >sweep.json
python3 "$here/web_sliders.py" ask "$at" "$CPT" spans sweep.json

say 'recorded graphs have sliders by frame, and no such words'
for service in A B C; do
    "$(dirname "$make_log")/make_graphs" $service 40 >$service.cptgraph
done
serve recorded "$CPT" web --graphs A.cptgraph --graphs B.cptgraph --graphs C.cptgraph a.cptlog
get '/whatif?share%3AB%3A+B2=50' >page.html
grep -q '<th scope="col">frame</th><th scope="col">path ms</th>' page.html || fail 'no frames'
grep -q 'Requests of which all is known: 40' page.html || fail 'the requests'
sed '1,/<\/style>/d' page.html >body.html
grep -Eq 'could be|cannot tell|inferred|class="verdict"' body.html && fail "doubt: $(grep -E 'could be|inferred' body.html)"
true
