# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# cpp_build.sh - shared by tests that compile C++ against the build; sourced, with $build set.
# Sets $compilers, and what they are given: $warnings, $sanitize, $libraries, $others.
compilers=
for cxx in g++ clang++; do
    command -v $cxx >/dev/null 2>&1 && compilers="$compilers $cxx"
done
[ -n "$compilers" ] || need g++
sanitize=$(sed -n 's/^CPT_SANITIZE:[A-Z]*=\(..*\)/-fsanitize=\1/p' "$build/CMakeCache.txt")
warnings='-std=c++17 -Wall -Wextra -Wpedantic -Wconversion -Werror'

# Users of a library before it, as linkers want it; what else they need says pkg-config.
libraries=
for name in http framework wire core; do
    library=$(find "$build/modules" -name "libcpt_$name.a" -o -name "libcpt_$name.so")
    [ -z "$library" ] || libraries="$libraries $library -Wl,-rpath,$(dirname "$library")"
done
others=$(sh "$(dirname "$0")/../support/link_flags.sh" "$build" cpt cpt-http)
