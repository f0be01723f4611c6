#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# headers.sh SOURCE - every public header compiles alone, as C11 and as C++17, and
# includes only public ones of ours; in one folder, as a user has them.
set -u
cd "$1" || exit 2
cc=${CC:-cc}
cxx=${CXX:-c++}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0
count=0

mkdir "$work/cpt"
for header in cpt/cpt_*.h */cpt_*.h framework/transport/cpt_*.h; do
    cp "$header" "$work/cpt/"
done

for header in "$work"/cpt/*.h; do
    name=$(basename "$header")
    count=$((count + 1))
    for bad in $(sed -n 's/^#include "\(.*\)".*/\1/p' "$header" |
        grep -Ev '^(cpt/)?cpt_[a-z0-9_]+\.h$'); do
        echo "$name includes \"$bad\", which is not public"
        failed=1
    done
    grep -q CPT_BEGIN_DECLS "$header" && grep -q CPT_END_DECLS "$header" || {
        echo "$name lacks CPT_BEGIN_DECLS or CPT_END_DECLS"
        failed=1
    }
    echo "#include <cpt/$name>" > "$work/alone.c"
    cp "$work/alone.c" "$work/alone.cc"
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$work" \
        "$work/alone.c" || { echo "$name does not compile alone as C11"; failed=1; }
    command -v "$cxx" >/dev/null 2>&1 || continue
    "$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$work" \
        "$work/alone.cc" || { echo "$name does not compile alone as C++17"; failed=1; }
done
[ $failed = 0 ] && echo "headers: $count public headers compile alone"
exit $failed
