#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# tidy.sh SOURCE BUILD [NODES] - clang-tidy finds nothing in our sources; .clang-tidy says
# what it looks for and why some checks are off. Its analyzer follows a function's paths
# for NODES states: 75,000 find nearly all in a third of the time that its own default of
# 225,000 takes. Without clang-tidy 14 or later: skipped (77).
set -u
cd "$1" || exit 2
source=$(pwd)
nodes=${3:-75000}
. tests/checks/files.sh
command -v clang-tidy >/dev/null 2>&1 || { echo "tidy: no clang-tidy"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# A separate configuration with clang, in which the generated headers are made.
cmake -S "$source" -B "$work" -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_EXPORT_COMPILE_COMMANDS=ON > "$work/output" 2>&1 || {
    cat "$work/output"
    exit 1
}
generated=$(ninja -C "$work" -t targets all 2>/dev/null | sed -n 's/^\(.*\.pb\.h\):.*/\1/p')
# shellcheck disable=SC2086
[ -z "$generated" ] || ninja -C "$work" $generated > "$work/output" 2>&1 || {
    cat "$work/output"
    exit 1
}

sources c | grep -Ev '^(tests/|examples/)' |
    xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p "$work" \
        --extra-arg=-Xclang --extra-arg=-analyzer-config \
        --extra-arg=-Xclang --extra-arg=max-nodes="$nodes" > "$work/output" 2>/dev/null ||
    failed=1
if [ "${failed:-0}" = 1 ]; then
    cat "$work/output"
    exit 1
fi
echo "tidy: nothing found in $(sources c | grep -Evc '^(tests/|examples/)') files"
