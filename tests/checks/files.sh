# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# Sourced by the checks. sources PATTERN... lists the files of the source tree whose
# extension matches, without what was built; the current folder is its root.
# shellcheck shell=sh
sources()
{
    for pattern in "$@"; do
        find . -name .git -prune -o -path './build*' -prune -o -path './demo-out' -prune \
            -o -path './obj-*' -prune -o -path './debian/*/*' -prune \
            -o -type f -name "*.$pattern" -print
    done | sed 's|^\./||' | sort
}
