# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# what has no block of a log is not read for ever
cpt contention /dev/zero; echo "exit $?"
yes | cpt report -; echo "exit $?"
