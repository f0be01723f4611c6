#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# deb.sh SOURCE - dpkg-buildpackage makes the packages of debian/, and the -dev package,
# unpacked with its dependencies, is sufficient to build a program. Works in a copy, since
# Debian's tools write into the tree. Skipped (77) without them.
set -eu
source=$(cd "$1" && pwd)
for tool in dpkg-buildpackage dh fakeroot; do
    command -v $tool >/dev/null 2>&1 || { echo "deb: no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MAKELEVEL DESTDIR || true

mkdir "$work/cpt"
(cd "$source" && tar -c --exclude='./build*' --exclude=./.git --exclude=./demo-out .) |
    tar -x -C "$work/cpt"
cd "$work/cpt"
DEB_BUILD_OPTIONS="parallel=$(nproc) nocheck" dpkg-buildpackage -us -uc -b \
    > "$work/output" 2>&1 || {
    tail -n 100 "$work/output"
    exit 1
}

# What a program must depend on is the package of its SONAME, in a version that has all
# that it was built with.
version=$(sed -n 's/^project(cpt VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
soversion=${version%%.*}
[ "$soversion" != 0 ] || soversion=${version%.*}
for name in libcpt:core libcpt:framework libcpt-http:http libcpt-grpc:grpc; do
    package=${name%:*}$soversion
    wanted="libcpt_${name#*:} $soversion $package (>= $version)"
    dpkg-deb -I "$work/${package}_"*.deb shlibs > "$work/shlibs"
    grep -qxF "$wanted" "$work/shlibs" || {
        echo "deb: the shlibs of $package do not say '$wanted': $(cat "$work/shlibs")"
        exit 1
    }
done
# What we build ourselves uses functions of the version CPT_PRIVATE, which promise nothing: it
# needs the very version that it was built with.
exact=$(dpkg-parsechangelog -l debian/changelog -S Version)
for name in cpt-tools "libcpt-http$soversion" "libcpt-grpc$soversion"; do
    dpkg-deb -f "$work/${name}_"*.deb Depends > "$work/depends"
    grep -qF "libcpt$soversion (= $exact)" "$work/depends" || {
        echo "deb: $name depends on $(cat "$work/depends")"
        exit 1
    }
done

mkdir "$work/root"
for package in "$work"/*.deb; do
    dpkg-deb -x "$package" "$work/root"
done
for file in usr/bin/cpt usr/share/man/man1/cpt.1.gz usr/share/man/man5/cpt-log.5.gz \
    usr/share/man/man7/cpt.7.gz usr/include/cpt/cpt_path.h \
    usr/share/bash-completion/completions/cpt; do
    [ -e "$work/root/$file" ] || { echo "deb: no package has /$file"; exit 1; }
done
lib=$(dirname "$(find "$work/root" -name libcpt_core.so)")
PKG_CONFIG_PATH=$lib/pkgconfig
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
cc -o "$work/consumer" "$source/tests/checks/consumer/consumer.c" \
    $(pkg-config --cflags --libs cpt)
LD_LIBRARY_PATH=$lib "$work/consumer" | grep -qxF 'A: parse 200'
LD_LIBRARY_PATH=$lib "$work/root/usr/bin/cpt" --version

# gRPC by pkg-config and by CMake; no other package needs its library.
# shellcheck disable=SC2046
cc -o "$work/consumer-grpc" "$source/tests/checks/consumer/consumer_grpc.c" \
    $(pkg-config --cflags --libs cpt-grpc)
LD_LIBRARY_PATH=$lib "$work/consumer-grpc" | grep -qxF gRPC
cmake -S "$source/tests/checks/consumer" -B "$work/use-grpc" -DBY=grpc \
    -DCMAKE_PREFIX_PATH="$work/root/usr" > "$work/output" 2>&1 &&
    cmake --build "$work/use-grpc" >> "$work/output" 2>&1 || { cat "$work/output"; exit 1; }
LD_LIBRARY_PATH=$lib "$work/use-grpc/consumer" | grep -qxF gRPC
for package in "$work"/*.deb; do
    case $package in *grpc*) continue ;; esac
    if dpkg-deb -f "$package" Depends | grep -q grpc ||
        dpkg-deb -c "$package" | grep -q 'cpt[_-]grpc\|collect-grpc'; then
        echo "deb: $package needs gRPC, or has files of it"
        exit 1
    fi
done
echo "deb: $(find "$work" -maxdepth 1 -name '*.deb' | wc -l) packages"
