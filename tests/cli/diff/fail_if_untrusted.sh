# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what cannot be trusted makes no condition hold, and stderr says why
make_log few >a.cptlog
try()
{
    cpt diff a.cptlog --base arm=control --new arm=treatment --fail-if "$@" >/dev/null
    echo $?
}
try 'total > 1ms at q<1'
try 'name("B: B2") > 1ms at q<1'
try 'name("B: B2") > 9s at q<1'
