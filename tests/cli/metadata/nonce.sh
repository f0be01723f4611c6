# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a path that says which ask it answers, whole and as its sum; both forms keep the nonce
value=CAEYCSoEQTogLzIBADoBAUoBAFIBCZkBZX1MiIHQhp8
cpt metadata "$value"
cpt metadata --json "$value" | tr ',' '\n' | grep nonce
cpt metadata CAEYCZkBZX1MiIHQhp8 | head -3
cpt metadata --json CAEYCQ | tr ',' '\n' | grep nonce
verbose=$(cpt metadata --to verbose "$value")
cpt metadata --verbose "$verbose" | head -2
[ "$(cpt metadata --verbose --to compact "$verbose")" = "$value" ] && echo "the same again"
