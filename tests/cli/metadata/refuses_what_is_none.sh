# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# bad base64, bad bytes, nothing
cpt metadata "a?b"; echo $?
cpt metadata "////"; echo $?
cpt metadata ""; echo $?
cpt metadata </dev/null; echo $?
cpt metadata "$(printf '\033[2J')"
