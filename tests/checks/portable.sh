# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# portable.sh SOURCE ARCHITECTURE TRIPLET PROCESSOR [whole] - the libraries and the tool
# compile for another architecture of Debian, and the unit tests of what reads and writes
# bytes and the kept inputs of the decoders pass there, under qemu's emulation of a
# process; with `whole`, the whole tree and all unit tests
#
# The libraries of that architecture are downloaded and unpacked into a folder that is
# removed; nothing is installed, and this machine gets no foreign architecture.
set -u
source=$1
architecture=$2
triplet=$3
processor=$4
whole=${5:-}
for needed in "$triplet-gcc" "qemu-$processor" apt-get dpkg-deb ninja taskset; do
    command -v "$needed" >/dev/null && continue
    echo "$needed is not installed"
    exit 77
done
if [ "${NO_INSTALL:-0}" = 1 ]; then
    echo "NO_INSTALL=1 forbids the download of libraries for $architecture"
    exit 77
fi
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
trap 'exit 99' INT TERM
cd "$folder" || exit 99
chmod 755 .

# apt with lists and caches of its own.
mkdir -p state/lists/partial cache/archives/partial debs libraries
apt()
{
    apt-get -q -o APT::Architecture="$architecture" -o APT::Architectures::="$architecture" \
        -o Dir::State="$folder/state" -o Dir::State::status=/dev/null \
        -o Dir::Cache="$folder/cache" -o Acquire::Languages=none -o APT::Sandbox::User= "$@"
}
if ! apt update >update.txt 2>&1 || ! (cd debs && apt download libcbor-dev libcbor0.8 \
    libcunit1-dev libcunit1 libnanopb-dev zlib1g-dev zlib1g libzstd-dev libzstd1 libpcre2-dev libpcre2-8-0 libjansson-dev libjansson4 \
    libevent-dev libevent-2.1-7 libevent-core-2.1-7 libevent-extra-2.1-7 \
    libevent-pthreads-2.1-7 libc-bin) >download.txt 2>&1; then
    tail -n 3 update.txt download.txt 2>/dev/null
    echo "the libraries for $architecture cannot be downloaded"
    exit 77
fi
for package in debs/*.deb; do
    dpkg-deb -x "$package" libraries || exit 99
done

lib=$folder/libraries/usr/lib/$triplet
cat >toolchain.cmake <<END
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $processor)
set(CMAKE_C_COMPILER $triplet-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE $triplet)
set(CMAKE_FIND_ROOT_PATH $folder/libraries /usr/$triplet)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-$processor;-L;/usr/$triplet;-E;LD_LIBRARY_PATH=$lib:$folder/libraries/lib/$triplet:/usr/$triplet/lib,LOCPATH=$folder/libraries/usr/lib/locale")
END
export PKG_CONFIG_LIBDIR="$lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$folder/libraries"
cmake -S "$source" -B build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCPT_WERROR=ON \
    -DCMAKE_TOOLCHAIN_FILE="$folder/toolchain.cmake" -DCPT_WITH_CLICKHOUSE=OFF -DCPT_WITH_SIMDJSON=OFF \
    >configure.txt 2>&1 || { tail -n 20 configure.txt; echo "FAILED: cmake"; exit 1; }
if [ "$whole" = whole ]; then
    tests='^unit_|^fuzz_'
    targets=all
else
    tests='^unit_(wire|aggregate|import|pprof-export|store)$|^fuzz_'
    targets="cpt $(ninja -C build -t targets all | sed 's/: phony$//' | grep -E "$tests")"
fi
# shellcheck disable=SC2086 # a list of targets
cmake --build build --target $targets >build.txt 2>&1 || {
    grep -E 'error|warning|FAILED' -A 5 build.txt | head -n 60
    echo "FAILED: it does not compile for $architecture"
    exit 1
}
# arm64 gets one processor: qemu 7.2 lets its load-acquire pass an earlier store-release,
# which the architecture forbids, and a thread that sleeps then misses its work. Threads
# that take turns on a processor see all stores in order.
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
[ "$architecture" != arm64 ] || cpus=${cpus%%[,-]*}
# The simulations of the statistics are left out: minutes here are an hour there.
CPT_TEST_CASES=${CPT_TEST_CASES:-50} taskset -c "$cpus" ctest --test-dir build -R "$tests" \
    -E unit_inference -LE 'long|soak' -j "$(nproc)" --timeout 1200 --no-tests=error \
    --output-on-failure >tests.txt 2>&1 || {
    tail -n 60 tests.txt
    echo "FAILED: tests on $architecture"
    exit 1
}
grep 'tests passed' tests.txt
