# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a hyphen is standard input
make_log few | cpt log --check -
make_log damaged | cpt log --check - 2>&1 | tail -1
