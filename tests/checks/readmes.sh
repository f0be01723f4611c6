#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# readmes.sh SOURCE - the README of each folder is a true map of it.
#
# It has at most 40 lines and begins with "Takes in", "Gives out", "Uses", "Read first"
# and "Not here". It names each C file of the folder, and of the folders below that have
# no README of their own: x.c or x.h stands for both, x_*.c for several. Each C file that
# it names is there: one of these, one of the folder above, or a path.
set -u
cd "$1" || exit 2
. tests/checks/files.sh
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0
count=0

complain()
{
    echo "$1: $2"
    failed=1
}

check_head() # PAGE
{
    [ "$(wc -l < "$1")" -le 40 ] || complain "$1" "$(wc -l < "$1") lines, the limit is 40"
    head -n 20 "$1" | sed 's/^[-* ]*//' |
        grep -oE '^(Takes in|Gives out|Uses|Read first|Not here):' | tr '\n' ' ' > "$work/head"
    [ "$(cat "$work/head")" = "Takes in: Gives out: Uses: Read first: Not here: " ] ||
        complain "$1" 'does not begin with Takes in, Gives out, Uses, Read first, Not here'
}

# What a page names against the files that it is a map of.
check_names() # PAGE FOLDER
{
    sed 's/\.\[ch\]/.c/g' "$1" | grep -oE '[A-Za-z0-9_./*-]+\.[ch]\b' | sort -u > "$work/names"
    awk -v page="$1" -v folder="$2" '
        function complain(what)
        {
            print page ": " what
            failed = 1
        }
        function noun_of(path)
        {
            sub(/.*\//, "", path)
            sub(/\.[ch]$/, "", path)
            return path
        }
        # The nearest folder from that of the file upwards that has a README.
        function owner(file)
        {
            do {
                sub(/\/?[^\/]*$/, "", file)
            } while (file != "" && !(file in has_readme))
            return file
        }
        FILENAME == ARGV[1] { has_readme[$0] = 1; next }
        FILENAME == ARGV[2] {
            exists[$0] = 1
            if (owner($0) == folder) {
                mapped[$0] = 1
                is_here[substr($0, match($0, /[^\/]*$/))] = 1
                count++
            }
            next
        }
        { names[$0] = 1 }
        END {
            above = folder
            sub(/[^\/]*$/, "", above)
            for (name in names) {
                noun = noun_of(name)
                if (gsub(/\*/, ".*", noun)) {
                    patterns[noun] = 1
                    continue
                }
                is_named[noun] = 1
                if (count && !(name in is_here) && !(name in exists) &&
                    !((folder "/" name) in exists) && !((above name) in exists)) {
                    complain(name " is not there")
                }
            }
            for (file in mapped) {
                noun = noun_of(file)
                for (pattern in patterns) {
                    is_named[noun] = is_named[noun] || noun ~ ("^" pattern "$")
                }
                if (!is_named[noun]) {
                    complain("does not name " file)
                }
            }
            exit failed
        }' "$work/folders" "$work/sources" "$work/names" || failed=1
}

sources '[ch]' > "$work/sources"
sources md | grep '/README\.md$' | grep -v '^tests/' > "$work/pages"
sed 's|/README\.md$||' "$work/pages" > "$work/folders"
while IFS= read -r page; do
    folder=${page%/README.md}
    count=$((count + 1))
    check_head "$page"
    check_names "$page" "$folder"
done < "$work/pages"
[ $failed = 0 ] && echo "readmes: $count maps of folders are true"
exit $failed
