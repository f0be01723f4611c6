#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# format.sh SOURCE [--fix] - the C files are as clang-format 14 writes them. Other
# versions write other things, so without that one the check is skipped (77).
set -u
cd "$1" || exit 2
. tests/checks/files.sh
for formatter in clang-format-14 clang-format; do
    "$formatter" --version 2>/dev/null | grep -q 'version 14\.' && break
    formatter=
done
[ -n "$formatter" ] || { echo "format: no clang-format 14"; exit 77; }
if [ "${2:-}" = --fix ]; then
    sources '[ch]' | xargs "$formatter" -i
    exit
fi
sources '[ch]' | xargs "$formatter" --dry-run -Werror || {
    echo "format: tests/checks/format.sh . --fix puts it right"
    exit 1
}
echo "format: $(sources '[ch]' | wc -l) files are as clang-format writes them"
