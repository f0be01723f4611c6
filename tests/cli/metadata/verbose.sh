# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the verbose form: written, shown, and back to the same bytes
compact=$(make_log metadata)
verbose=$(cpt metadata --to verbose "$compact")
echo "$verbose"
cpt metadata --verbose "$verbose"
[ "$(cpt metadata --verbose --to compact "$verbose")" = "$compact" ] && echo "the same again"
cpt metadata "$verbose"
cpt metadata --verbose "$compact"
cpt metadata --to short "$compact"
cpt metadata --to verbose --json "$compact"
cpt metadata --verbose --conformance true
