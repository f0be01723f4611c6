# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a last block that is not complete is a remark, no failure
make_log truncated >a.cptlog
cpt log --check a.cptlog
