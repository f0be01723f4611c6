# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# one object
cpt metadata --json "$(make_log metadata)"
