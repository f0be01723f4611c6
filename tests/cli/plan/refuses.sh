# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# malformed amounts, and too few requests
make_log few >a.cptlog
for wrong in 'within 5' 'within -1ms' 'within 0ms' 'confidence 1' 'confidence 0' \
    'power 100%' 'share 2' 'share 101%' 'probability 0' 'rate 5ms'; do
    cpt plan --${wrong% *} ${wrong#* } a.cptlog; echo $?
done
cpt plan --where items=0 a.cptlog; echo $?
cpt plan --where arm=control a.cptlog >out; echo $?
