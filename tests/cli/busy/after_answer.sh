# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# A answers at 10 ms and B answers A at 8 ms; A2, B2 and B3 go on, which does not count
. "$(dirname "$0")/../spans.sh"
span 1 1 '' 0 10000000 "request entry=A:%20%2f latency=10000000 by=$(id 2)" >notes.json
span 1 2 "$(id 1)" 0 10000000 "task name=A:%20A1 start=0 end=10000000" >>notes.json
span 1 3 "$(id 1)" 1000000 30000000 "task name=A:%20A2 ready=1000000 start=1000000 end=30000000" >>notes.json
span 1 4 "$(id 2)" 2000000 8000000 \
    "wait order=1 block=2000000 arrive=8000000 resume=8000000 for=$(id 5)" >>notes.json
span 1 5 "$(id 2)" 2000000 8000000 \
    "call name=B:%20b issuer=$(id 2) waiter=$(id 2) issue=2000000 arrive=8000000 outcome=1 path=1" >>notes.json
span 1 6 "$(id 5)" 900000000 906000000 "request entry=B:%20b latency=6000000 by=$(id 7)" >b.json
span 1 7 "$(id 6)" 900000000 906000000 "task name=B:%20B1 start=0 end=6000000" >>b.json
span 1 8 "$(id 6)" 901000000 938000000 "task name=B:%20B2 ready=1000000 start=1000000 end=38000000" >>b.json
span 1 9 "$(id 6)" 910000000 938000000 "task name=B:%20B3 ready=10000000 start=10000000 end=38000000" >>b.json
cpt busy notes.json b.json
