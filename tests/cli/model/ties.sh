# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# Lines of a unit with equal stamps: in the order of the input, oldest or newest first;
# of an input in no order a warning
lines() # SORT-OPTIONS
{
    echo id,service,unit,event,time_us
    awk 'BEGIN { for (i = 0; i < 40; i++) for (k = 0; k < 4; k++)
        printf "%d,%03d,s,u,e%d,%.0f\n", (i * 4 + k + 7) ^ 2 * 7919 % 1009, i, k,
            1700000000000000 + i * 1000000 + int(k / 2) * 1000 }' |
        sort -t , "$@" | cut -d , -f 2-
}
lines -s -k 2,2 -k 6,6 >oldest.csv
lines -k 2,2r -k 6,6r -k 5,5r >newest.csv
lines -n -k 1,1 >none.csv
for file in oldest newest none; do
    echo "$file first" >&2
    cpt model learn $file.csv -o $file.cptmodel
done
cmp oldest.cptmodel newest.cptmodel && echo the same
