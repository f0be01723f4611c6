# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# grpc_middle_build.sh - sourced behind system.sh: build_grpc_middle SOURCE BUILD [NAME]
# makes ./grpc_middle, or another service on grpc++, without a warning in our header.
# Skips, saying why, where grpc++ is not installed.
# shellcheck shell=sh
build_grpc_middle() {
    made=${3:-grpc_middle}
    need g++ protoc grpc_cpp_plugin pkg-config
    pkg-config --exists grpc++ protobuf || {
        echo "skipped: libgrpc++-dev or libprotobuf-dev is not installed"
        exit 77
    }
    sanitize=$(sed -n 's/^CPT_SANITIZE:[A-Z]*=\(..*\)/-fsanitize=\1/p' "$2/CMakeCache.txt")
    libraries=
    for name in framework wire core; do
        library=$(find "$2/modules" -name "libcpt_$name.a" -o -name "libcpt_$name.so")
        libraries="$libraries $library -Wl,-rpath,$(dirname "$library")"
    done
    others="$(sh "$1/tests/support/link_flags.sh" "$2" cpt)
        $(pkg-config --libs grpc++ protobuf)"
    cp "$1/tests/system/grpc_demo.proto" .
    protoc --cpp_out=. --grpc_out=. --plugin=protoc-gen-grpc="$(command -v grpc_cpp_plugin)" \
        grpc_demo.proto
    for file in grpc_demo.pb grpc_demo.grpc.pb; do
        [ -e $file.o ] || g++ -std=c++17 -O0 -c -o $file.o $file.cc
    done
    # shellcheck disable=SC2086
    g++ -std=c++17 -O1 -g -Wall -Wextra -Wpedantic -Wconversion -Werror $sanitize -I . \
        -I "$2/include" -o "$made" "$1/tests/system/$made.cc" \
        grpc_demo.pb.o grpc_demo.grpc.pb.o $libraries $others || fail "$made.cc"
}
