# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# of lines, cpt culprit also says behind which line another one comes
. "$(dirname "$0")/rows.sh"
{
    head
    requests a 40 'web GET#3' 'basic Impl#400 Impl#405 Impl#418' 'stock Find#7' 'web SENT#4'
} >base.csv
{
    head
    requests c 20 'web GET#3' 'basic Impl#400 Impl#405 Impl#415' 'stock Find#7' 'web SENT#4'
} >new.csv
cpt culprit base.csv new.csv 2>none
echo
cpt culprit --json base.csv new.csv 2>none | sed -n '/behaviour/,$p'
cpt culprit base.csv base.csv 2>none | tail -2
cpt culprit --where 'method == "GET#3"' base.csv new.csv 2>none | grep behind
