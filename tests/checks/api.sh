#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# api.sh SOURCE BUILD - programs written for version 0.1 still compile and link: the
# files of tests/checks/api/, which state each public function, field, constant and
# macro of that version, as C11 with warnings as errors. Deprecated names stay.
set -u
source=$(cd "$1" && pwd) || exit 2
build=$(cd "$2" && pwd) || exit 2
cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
sanitize=$(sed -n 's/^CPT_SANITIZE:[A-Z]*=\(..*\)/-fsanitize=\1/p' "$build/CMakeCache.txt")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# Users of a library before it, as linkers want it; what else they need says pkg-config.
libraries=
for name in http pprof aggregate framework wire core; do
    library=$(find "$build/modules" -name "libcpt_$name.a" -o -name "libcpt_$name.so")
    [ -n "$library" ] || continue
    libraries="$libraries $library -Wl,-rpath,$(dirname "$library")"
done
[ -n "$libraries" ] || { echo "api: no libraries in $build"; exit 1; }
others=$(sh "$source/tests/support/link_flags.sh" "$build" cpt cpt-http)

set -- "$source"/tests/checks/api/api_0_1*.c
if [ ! -e "$build/include/cpt/cpt_http.h" ]; then
    for file; do
        shift
        case $file in *_http.c) ;; *) set -- "$@" "$file" ;; esac
    done
fi
# shellcheck disable=SC2086
"${cc:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -Wno-deprecated-declarations \
    -Wno-missing-field-initializers $sanitize -I "$build/include" -o "$work/api" "$@" \
    $libraries $others || { echo "api: what stood in the headers of 0.1 is gone or differs"; exit 1; }
"$work/api" > "$work/output" || { cat "$work/output"; exit 1; }
functions=$(grep -ch '^FUNCTION(' "$@" | awk '{ sum += $1 } END { print sum }')
echo "api: $functions functions, and all types and constants of 0.1 are there"
