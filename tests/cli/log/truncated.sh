# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# an incomplete last block is reported, but is not a failure
make_log truncated >a.cptlog
cpt log --check a.cptlog
