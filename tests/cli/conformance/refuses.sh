# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# options that are wrong, and files that are not there
cpt-conformance 2>&1 | head -1
cpt-conformance --cases 0 cat; echo $?
cpt-conformance --cases -1 cat; echo $?
cpt-conformance --seed x cat; echo $?
cpt-conformance --timeout 0 cat; echo $?
cpt-conformance --timeout 10ms cat; echo $?
cpt-conformance --data none cat; echo $?
cpt-conformance cat none; echo $?
cpt metadata --conformance cat; echo $?
cpt-conformance --json --data none cat; echo $?
cpt-conformance --help | head -1
