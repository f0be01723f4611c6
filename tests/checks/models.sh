#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# models.sh SOURCE - the models of docs/models hold, and each of their faults is found
#
# The head of a model lists the faults that can be switched on: BROKEN_...
set -u
source=$(cd "$1" && pwd) || exit 2
command -v spin > /dev/null || { echo "models: spin is not installed"; exit 77; }
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
failed=0
count=0

# Checks MODEL, with the fault FAULT unless that is empty. Prints the result.
check() # MODEL FAULT
{
    spin -a ${2:+-D"$2"} "$1" > spin.out 2>&1 || { cat spin.out; return; }
    ${CC:-cc} -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=1500 -o pan pan.c > cc.out 2>&1 ||
        { cat cc.out; return; }
    ./pan -m1000000 > pan.out 2>&1
    if grep -qE 'max search depth too small|out of memory|memory limit' pan.out; then
        cat pan.out
    elif grep -q 'errors: 0' pan.out; then
        echo holds
    elif grep -qE 'assertion violated|invalid end state' pan.out; then
        echo fails
    else
        cat pan.out
    fi
}

for model in "$source"/docs/models/*.pml; do
    name=${model##*/}
    found=$(check "$model" '')
    if [ "$found" != holds ]; then
        echo "docs/models/$name: $found"
        failed=1
    fi
    for fault in $(sed -n 's/^ \*   \(BROKEN_[A-Z]*\) .*/\1/p' "$model"); do
        found=$(check "$model" "$fault")
        if [ "$found" != fails ]; then
            echo "docs/models/$name: with $fault: $found"
            failed=1
        fi
        count=$((count + 1))
    done
done
[ "$failed" = 0 ] && echo "models: they hold, and each of $count faults is found"
exit "$failed"
