# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# Sourced by the checks. sources PATTERN... lists the files of the source tree whose
# extension matches, without build folders; the current folder is its root.
# shellcheck shell=sh
sources()
{
    for pattern in "$@"; do
        find . -type d \( -name .git -o -path './build*' -o -name demo-out -o \
            -path './debian/*' -o -exec test -e '{}/CMakeCache.txt' \; \) -prune \
            -o -type f -name "*.$pattern" -print
    done | sed 's|^\./||' | sort
}
