# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# spans with notes whose root was lost are no requests, unless it is asked for them
. "$(dirname "$0")/../spans.sh"
request() # TRACE PARENT LATENCY
{
    span "$1" 1 "$2" 0 "$3" "request entry=A latency=$3 by=$(id 2)"
    span "$1" 2 "$(id 1)" 0 "$3" "task name=t start=0 end=$3"
}
{
    request 1 "" 1000
    request 2 "$(id 9)" 3000
} >spans.json
cpt slack spans.json; echo "exit $?"
cpt slack --include-fragments spans.json | head -1
cpt slack --trace "$(printf '%032d' 2)" spans.json | head -1
cpt slack --where 'has(cpt.fragment)' spans.json | head -1
cpt whatif --set t=-50% spans.json | head -1
cpt busy spans.json | head -1
request 2 "$(id 9)" 3000 >fragment.json
cpt slack fragment.json; echo "exit $?"
