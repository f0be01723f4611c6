#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# link_flags.sh BUILD NAME... - what who links the libraries of BUILD/NAME.pc needs
# beside them. Of static libraries it stands in the public lines, of shared ones in the
# private lines. A NAME that BUILD does not have is left out.
build=$1
shift
for name; do
    file=$build/$name.pc
    [ -e "$file" ] || continue
    sed -n 's/^Libs\(\.private\)\{0,1\}: *//p' "$file" | tr ' ' '\n' | grep '^-[lp]' |
        grep -v '^-lcpt'
    packages=$(sed -n 's/^Requires\(\.private\)\{0,1\}: *//p' "$file" | tr ', ' '\n\n' |
        grep '^[a-z]' | grep -v '^cpt')
    # shellcheck disable=SC2086
    [ -z "$packages" ] || pkg-config --libs $packages
done | tr '\n' ' '
