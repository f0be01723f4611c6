# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --json and -- may stand before the file of `cpt FILE`
make_log few >-j
make_log few >few.cptlog
cpt --json few.cptlog >a && cpt few.cptlog --json >b && cmp a b && echo same
cpt -j few.cptlog >c && cmp b c && echo same
cpt -- -j | head -1
cpt --json -- -j | head -1
cpt -j; echo $?
cpt --json few.cptlog few.cptlog; echo $?
cpt nonsense -j
