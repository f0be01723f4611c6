#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# package.sh SOURCE BUILD - an installation is complete: users can build with it.
#
# Shared and static libraries are installed in turn to a staging folder, as if for
# /usr. Against each, a project outside the tree is built by find_package and by
# pkg-config and run; so are the examples, which are separate projects.
set -eu
source=$(cd "$1" && pwd)
build=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
cc=${cc:-cc}
unset MAKEFLAGS MAKELEVEL DESTDIR CMAKE_PREFIX_PATH || true

quietly() # COMMAND...: what it prints is shown if it fails
{
    "$@" > "$work/output" 2>&1 || {
        cat "$work/output"
        echo "package: failed: $*"
        exit 1
    }
}

expect_run() # PROGRAM SENTENCE
{
    got=$(LD_LIBRARY_PATH=$lib "$1" 2>&1) || { echo "$2: $got"; exit 1; }
    [ "$got" = 'A: parse 200' ] || { echo "$2: printed '$got'"; exit 1; }
}

for shared in ON OFF; do
    stage=$work/stage-$shared
    quietly cmake -S "$source" -B "$work/build-$shared" -G Ninja -DCMAKE_C_COMPILER="$cc" \
        -DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=$shared -DCPT_BUILD_TESTS=OFF \
        -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR=lib
    quietly cmake --build "$work/build-$shared"
    (export DESTDIR="$stage" && quietly cmake --install "$work/build-$shared")
    lib=$stage/usr/lib

    for by in cmake pkg-config; do
        export PKG_CONFIG_PATH="$lib/pkgconfig"
        # Where a distribution's static library is, CMake's targets say themselves.
        quietly cmake -S "$source/tests/checks/consumer" -B "$work/use-$shared-$by" -G Ninja \
            -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$stage/usr" -DBY=$by
        quietly cmake --build "$work/use-$shared-$by"
        expect_run "$work/use-$shared-$by/consumer" "shared=$shared by=$by"
    done

    # The same without CMake, as in a Makefile.
    # shellcheck disable=SC2046
    quietly "$cc" -o "$work/by-hand" "$source/tests/checks/consumer/consumer.c" \
        $(pkg-config --cflags --libs cpt)
    expect_run "$work/by-hand" "shared=$shared by hand"

    if [ -e "$source/examples/CMakeLists.txt" ]; then
        quietly cmake -S "$source/examples" -B "$work/examples-$shared" -G Ninja \
            -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$stage/usr"
        quietly cmake --build "$work/examples-$shared"
    fi
    if [ -e "$source/examples/Makefile" ] && command -v make >/dev/null 2>&1; then
        mkdir "$work/make-$shared"
        quietly make -C "$source/examples" OUT="$work/make-$shared" CC="$cc" \
            PKG_CONFIG=pkg-config
    fi
    for page in "$source"/docs/*.md; do # what README and the pages point to
        find "$stage/usr/share/doc" -name "$(basename "$page")" | grep -q . || {
            echo "$(basename "$page") is not installed"
            exit 1
        }
    done
    if [ -x "$stage/usr/bin/cpt" ]; then
        quietly "$stage/usr/bin/cpt" --version
    fi
done

# Installed to a prefix of its own, as make install does: the program starts as it is, and
# the end of the installation says where the libraries are found. A stand-in for ldconfig
# notes whether it is called; $searched is where the loader would look.
mkdir "$work/bin"
cat > "$work/bin/ldconfig" <<'EOF'
#!/bin/sh
[ $# -eq 0 ] && { echo called >> "$LDCONFIG_CALLS"; exit 0; }
printf '%s: (from <builtin>:0)\n\tlibc.so.6 -> libc.so.6\n' $LDCONFIG_FOLDERS
EOF
chmod +x "$work/bin/ldconfig"
printf '#!/bin/sh\necho "$AS_USER"\n' > "$work/bin/id"
chmod +x "$work/bin/id"
export LDCONFIG_CALLS="$work/calls"

install_to() # PREFIX FOLDERS USER WORDS CALLS [DESTDIR]
{
    : > "$LDCONFIG_CALLS"
    quietly cmake -S "$source" -B "$work/build-ON" -DCMAKE_INSTALL_PREFIX="$1"
    quietly cmake --build "$work/build-ON"
    (export PATH="$work/bin:$PATH" LDCONFIG_FOLDERS="$2" AS_USER="$3" DESTDIR="${6-}" &&
        quietly cmake --install "$work/build-ON" && cp "$work/output" "$work/install.out")
    if [ -n "$4" ]; then
        tail -n 2 "$work/install.out" | grep -q "$4" || {
            echo "the end of an installation to $1 does not say '$4':"
            tail -n 3 "$work/install.out"
            exit 1
        }
    elif grep -q 'cpt: ' "$work/install.out"; then
        echo "a staged installation speaks of the loader"
        exit 1
    fi
    [ "$(grep -c called "$LDCONFIG_CALLS")" = "$5" ] || {
        echo "an installation to $1 as user $3 has not called ldconfig $5 times"
        exit 1
    }
}

prefix=$work/prefix
install_to "$prefix" /usr/lib 0 'does not look in' 0
install_to "$prefix" "/usr/lib $prefix/lib" 0 'ldconfig has run' 1
install_to "$prefix" "/usr/lib $prefix/lib" 1000 "run 'sudo ldconfig'" 0
install_to "$prefix" "/usr/lib $prefix/lib" 0 '' 0 "$work/staged"
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
# shellcheck disable=SC2046
quietly "$cc" -o "$work/started" "$source/tests/checks/consumer/consumer.c" \
    $(pkg-config --cflags --libs cpt)
lib=/nowhere
expect_run "$work/started" "a program that runs as it is"
"$prefix/bin/cpt" --version > /dev/null
grep -q rpath "$work/stage-ON/usr/lib/pkgconfig/cpt.pc" && {
    echo "pkg-config sets an rpath to a folder of the system"
    exit 1
}

# Each shared library: a SONAME with what may break programs, which of 0.x is the minor
# version, too; and cpt_ names only. Programs and libraries of ours need no other one, and
# the Debian packages are called after it.
version=$(sed -n 's/^project(cpt VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
soversion=${version%%.*}
[ "$soversion" != 0 ] || soversion=${version%.*}
for library in "$work"/stage-ON/usr/lib/libcpt_*.so; do
    name=$(basename "$library").$soversion
    readelf -d "$library" | grep SONAME | grep -qF "[$name]" || {
        echo "$(basename "$library"): its SONAME is not $name"
        exit 1
    }
    [ "$(readlink -f "$library")" = "$library.$version" ] || {
        echo "$(basename "$library") is not $version"
        exit 1
    }
    bad=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $NF }' |
        grep -v '^cpt_' || true)
    [ -z "$bad" ] || { echo "$(basename "$library") exports: $bad"; exit 1; }
done
for header in $(cd "$source" && . tests/checks/files.sh && private_headers); do
    [ ! -e "$work/stage-ON/usr/include/cpt/$(basename "$header")" ] ||
        { echo "$header is installed"; exit 1; }
done
for file in "$work"/stage-ON/usr/lib/libcpt_*.so "$work/stage-ON/usr/bin/cpt" \
    "$work/use-ON-cmake/consumer" "$work/started"; do
    bad=$(readelf -d "$file" | sed -n 's/.*NEEDED.*\[\(libcpt_.*\)\]/\1/p' |
        grep -v "\.so\.$soversion\$" || true)
    [ -z "$bad" ] || { echo "$(basename "$file") needs $bad"; exit 1; }
done
# Libraries of another version are none for a program.
mkdir "$work/other"
for library in "$prefix"/lib/libcpt_*.so; do
    cp "$library" "$work/other/$(basename "$library").9.9"
done
mv "$prefix/lib" "$prefix/lib.away"
if LD_LIBRARY_PATH="$work/other" "$work/started" > /dev/null 2>&1; then
    echo 'a program starts with libraries of another version'
    exit 1
fi
for package in libcpt libcpt-http libcpt-grpc; do
    { grep -qxF "Package: $package$soversion" "$source/debian/control" &&
        [ -e "$source/debian/$package$soversion.install" ]; } || {
        echo "debian/ has no package $package$soversion"
        exit 1
    }
done
echo "package: shared and static installations work by find_package and pkg-config"
