#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# symbols.sh BUILD - the visibility of each name of our libraries.
#
# cpt_ names are public and visible, cpti_ names are hidden and used within their own
# library; generated names are hidden. So a shared library exports
# cpt_ names and nothing else, and a static one brings no other names into a program.
# Those of headers that are not installed, and no others, have the version CPT_PRIVATE.
set -u
cd "$1" || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0
count=0

for library in $(find modules -name 'libcpt_*.a' | sort); do
    count=$((count + 1))
    # Of each object: its file, then "visibility section name binding" of each global symbol.
    readelf -W -s "$library" | awk '
        /^File: / { file = $2; sub(/.*\(/, "", file); sub(/\)$/, "", file) }
        $5 == "GLOBAL" || $5 == "WEAK" { print file, $6, $7, $8, $5 }' > "$work/symbols"
    awk -v library="$(basename "$library")" '
        # Sanitizers and coverage add names of their own.
        $4 ~ /^(__|_GLOBAL_|\.)/ { next }
        $3 == "UND" { if ($4 ~ /^cpti_/) used[$4] = $1; next }
        { defined[$4] = 1 }
        $1 ~ /\.pb\.c\.o$/ && $2 == "HIDDEN" { next }
        # What C++ headers define inline (functions, type information); the linker keeps one
        # of the weak copies. How many there are depends on the compiler and its options.
        $1 ~ /\.cpp\.o$/ && $5 == "WEAK" && $4 ~ /^(_Z|DW\.)/ { next }
        $4 ~ /^cpt_/ && $2 == "DEFAULT" { next }
        $4 ~ /^cpti_/ && $2 == "HIDDEN" { next }
        $4 ~ /^cpt_/ { say("is not CPT_API: export it, or call it cpti_"); next }
        $4 ~ /^cpti_/ { say("is exported: no CPT_API for cpti_ names"); next }
        { say("is neither static nor begins with cpt_ or cpti_") }
        function say(what) { printf "%s: %s: %s %s\n", library, $1, $4, what; failed = 1 }
        END {
            for (name in used) {
                if (!(name in defined)) {
                    printf "%s: %s: %s is private to another library\n", library,
                        used[name], name
                    failed = 1
                }
            }
            exit failed
        }' "$work/symbols" || failed=1
done
for library in $(find modules -name 'libcpt_*.so' | sort); do
    count=$((count + 1))
    nm -D --defined-only "$library" | awk '$2 != "A" { print $NF }' | grep -v '^cpt_' > "$work/symbols"
    while IFS= read -r name; do
        echo "$(basename "$library"): exports $name"
        failed=1
    done < "$work/symbols"
done
# NAME.map lists what CptModule.cmake found in the PRIVATE_HEADERS of NAME.
for map in $(find modules -name 'cpt_*.map' | sort); do
    sed 's/.*{//; s/}.*//' "$map" | tr ' ;' '\n\n' | grep . | sort > "$work/private"
    for library in "${map%/*}/lib$(basename "$map" .map)".*; do
        case $library in
        *.a) nm -g --defined-only "$library" 2>/dev/null | awk 'NF == 3 { print $3 }' |
            sort | comm -12 - "$work/private" > "$work/found" ;;
        *) nm -D --defined-only --with-symbol-versions "$library" |
            sed -n 's/.* \(cpt_[a-z0-9_]*\)@@CPT_PRIVATE$/\1/p' | sort > "$work/found" ;;
        esac
        cmp -s "$work/private" "$work/found" || {
            echo "$library: its CPT_PRIVATE functions are not those of its headers:"
            comm -3 "$work/private" "$work/found"
            failed=1
        }
    done
done
# libcurl is loaded at its first use (tool/store/curl_library.h).
if [ -x cpt ] && readelf -d cpt | grep 'NEEDED.*libcurl'; then
    echo "cpt: is linked to libcurl, which slows down its start"
    failed=1
fi
[ $count -gt 0 ] || { echo "symbols: no libraries in $1"; exit 1; }
[ $failed = 0 ] && echo "symbols: $count libraries show cpt_ names only"
exit $failed
