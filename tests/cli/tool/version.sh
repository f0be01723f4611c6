# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# the version
cpt --version | sed "s/[0-9][0-9.]*/N/"
