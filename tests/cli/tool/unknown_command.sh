# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a mistyped command is recognised, an unrelated word is not
cpt agregate; echo $?
cpt xylophone
