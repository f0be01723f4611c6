# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# an error is shown with its column
try() { cpt log --where "$1" x; }
try ''
try 'arm =='
try 'arm = "B"'
try '(arm == "B"'
try 'arm == "B")'
try 'arm == "B'
try 'arm == "B" region == "eu"'
try 'arm == "B" and'
try 'arm == "B" && failed'
try 'and arm == "B"'
try 'region in "eu"'
try 'region in ("eu" "us")'
try 'region not ("eu")'
try 'items > 20ms'
try 'items > 1.2.3'
try 'latency > 20'
try 'latency > 20parsecs'
try 'latency > 0.5ns'
try 'latency > p101'
try 'latency > 300000000000d'
try 'latency in (20ms)'
try 'start > yesterday'
try 'failed > true'
try 'failed == maybe'
try 'trace_id == 12'
try 'has(latency)'
try 'has(3)'
try 'path(A)'
try 'path("A;;B")'
try 'path("A") > p99'
try 'größe == 3 and x ='
try "$(printf 'arm == \033[2J')"
try "$(printf '%080d' 0 | tr 0 '(')arm == 3"
try "this_is_a_long_expression == 1 and this_is_a_long_expression == 2 and this_one_is == wrong ="
cpt diff --base 'arm == A' --new 'arm ==' x
cpt diff --base 'arm=A,latency > 3ms' --new arm=B x
