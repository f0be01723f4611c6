# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# Sourced by the checks. sources PATTERN... lists the files of the source tree whose
# extension matches, without build folders; the current folder is its root. A folder
# with a CMakeCache.txt is a build folder, whatever its name.
#
# private_headers lists the headers cpt_*.h that are not installed, as their folders say.
# shellcheck shell=sh
private_headers()
{
    awk '/PRIVATE_HEADERS/ { inside = 1 } / (USES|LINKS|SOURCES|PUBLIC_HEADERS) / { inside = 0 }
        inside { while (match($0, /cpt_[a-z0-9_]+[.]h/)) {
            file = FILENAME
            sub(/[^\/]*$/, "", file)
            print file substr($0, RSTART, RLENGTH)
            $0 = substr($0, RSTART + RLENGTH) } }
        /\)/ { inside = 0 }' */CMakeLists.txt
}

sources()
{
    find . -type d \( -name .git -o -path './build*' -o -name demo-out -o \
        -path './debian/*' \) -prune -o -type f -print | sed 's|^\./||' | sort |
        awk -v extensions="$(printf '%s|' "$@")" '
            BEGIN {
                sub(/\|$/, "", extensions)
                gsub(/\*/, "[^/]*", extensions)
                wanted = "[.](" extensions ")$"
            }
            {
                file[++count] = $0
                if (sub(/(^|\/)CMakeCache\.txt$/, "")) {
                    is_built[$0] = 1
                }
            }
            END {
                for (i = 1; i <= count; i++) {
                    if (file[i] !~ wanted) {
                        continue
                    }
                    for (folder = file[i]; sub(/\/[^\/]*$/, "", folder);) {
                        if (folder in is_built) {
                            break
                        }
                    }
                    if (!(folder in is_built)) {
                        print file[i]
                    }
                }
            }'
}
