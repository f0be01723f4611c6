# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the value of the header
cpt metadata "$(make_log metadata)"
