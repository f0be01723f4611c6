# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what never ends is not read for ever
for command in slack busy whatif; do
    cpt $command /dev/zero; echo "exit $?"
done
yes | cpt slack - 2>told; echo "exit $?"
tail -2 told
yes '{"a":1}' | cpt busy -; echo "exit $?"
# random bytes: at some place they are no text at all
cpt whatif /dev/urandom >none 2>&1; echo "exit $?"
