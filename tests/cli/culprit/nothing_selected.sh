# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what is wrong is said as cpt diff says it, with the nearest names
make_log experiment >a.cptlog
for terms in '--base=amr=control --new=amr=treatment' '--base=arm=contrl --new=arm=treatment' \
    '--base=arm=control --new=region=eux' '--base=arm=control --new=arm=treatment --entry=Z' \
    '--base=arm=control --new=arm=treatment --since=@1'; do
    cpt culprit $terms a.cptlog >/dev/null 2>said
    cpt diff $terms a.cptlog >/dev/null 2>said_by_diff
    cat said
    cmp said said_by_diff
done 2>&1
