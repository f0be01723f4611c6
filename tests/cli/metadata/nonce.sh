# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a path that says which ask it answers, whole and as its sum
value=CAEYCSoEQTogLzIBADoBAUoBAFIBCZkBZX1MiIHQhp8
cpt metadata "$value"
cpt metadata --json "$value" | tr ',' '\n' | grep nonce
cpt metadata CAEYCZkBZX1MiIHQhp8 | head -3
cpt metadata --json CAEYCQ | tr ',' '\n' | grep nonce
