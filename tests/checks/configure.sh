#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# configure.sh SOURCE - a build folder that was configured before packages were installed
# finds them afterwards: it builds what a new folder builds. The benchmarks can be
# configured, too.
#
# Such are the folders of `make demo`, which needs few packages, and of `make test`, which
# installs others. The packages are hidden, not removed: a folder of programs without C++
# compilers, and pkg-config's files of those that make demo installs. Skipped (77) without
# a C++ compiler or simdjson.
set -u
source=$(cd "$1" && pwd) || exit 2
for tool in cmake ninja pkg-config g++; do
    command -v $tool >/dev/null 2>&1 || { echo "configure: no $tool"; exit 77; }
done
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2

# Configures the folder $1, with the further arguments.
configure()
{
    folder=$1
    shift
    cmake -S "$source" -B "$folder" -G Ninja "$@" >output 2>&1 || { cat output; exit 1; }
}

# What the folder $1 builds, without its name.
targets()
{
    ninja -C "$1" -t targets all 2>/dev/null | grep -vE '^ninja:|: phony$' |
        sed "s,$work/$1/,,g" | sort
}

mkdir programs pc
old_ifs=$IFS
IFS=:
for folder in $PATH; do
    ln -s "$folder"/* programs/ 2>/dev/null # the first of a name stays
done
IFS=$old_ifs
(cd programs && rm -f -- c++* g++* clang++* ./*-c++* ./*-g++*)
for package in libcbor libevent libevent_pthreads zlib jansson libpcre2-8; do
    from=$(pkg-config --variable=pcfiledir $package)/$package.pc
    [ ! -e "$from" ] || ln -s "$from" pc/
done

PATH=$work/programs PKG_CONFIG_LIBDIR=$work/pc configure grown -DCPT_BUILD_TESTS=OFF \
    -DCMAKE_DISABLE_FIND_PACKAGE_simdjson=ON
if targets grown | grep -q json_simdjson; then
    echo "configure: the C++ compiler was not hidden"
    exit 1
fi
configure grown -DCPT_BUILD_TESTS=ON -UCMAKE_DISABLE_FIND_PACKAGE_simdjson
configure new -DCPT_BUILD_TESTS=ON
targets new | grep -q json_simdjson || { echo "configure: no simdjson"; exit 77; }
targets new >new.txt
targets grown >grown.txt
if ! diff new.txt grown.txt >difference; then
    echo "configure: built by a new folder (<), by one that was configured before (>):"
    head -n 40 difference
    exit 1
fi
# The benchmarks, which no other test builds, copy sources of the framework.
configure bench -DCPT_BUILD_TESTS=ON -DCPT_BUILD_BENCH=ON
echo "configure: the same $(wc -l <new.txt) targets"
