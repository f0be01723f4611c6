# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# options that do not go together, and files that are not there
cpt metadata --conformance; echo $?
cpt metadata --conformance cat --cases 0; echo $?
cpt metadata --conformance cat --timeout 10; echo $?
cpt metadata --conformance cat --timeout 1ms,2ms; echo $?
cpt metadata --conformance cat --max-bytes 4k; echo $?
cpt metadata --cases 3 value; echo $?
cpt metadata --seed 3 value; echo $?
cpt metadata --conformance cat none; echo $?
