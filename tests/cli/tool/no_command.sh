# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# without a word the groups of commands are shown, on one screen
cpt
