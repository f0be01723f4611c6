#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# words.sh SOURCE - what must not stand in the tree: file names without a noun, unfinished
# work without an issue's number, paths of one person's machine, marks of a merge, tabs
# in C, and words that leave a person or a number open. The expressions are made of
# pieces, so that this file does not find itself.
set -u
cd "$1" || exit 2
. tests/checks/files.sh
failed=0
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT

# forbid SENTENCE EXPRESSION LIST-OF-FILES [OPTION OF grep]
forbid()
{
    tr '\n' '\0' < "$3" | xargs -0 grep -nE ${4:-} -e "$2" /dev/null > "$work/found"
    while IFS= read -r line; do
        echo "$line: $1"
        failed=1
    done < "$work/found"
}

sources '*' > "$work/names"
sources '[ch]' cmake sh md proto py txt json options cddl in awk js html css pml 3 5 7 |
    grep -v '^tests/data/' > "$work/files"
ls Makefile .ci/run >> "$work/files"
grep '\.[ch]$' "$work/files" > "$work/c_files"
sources stdout stderr | cat - "$work/files" > "$work/prose"

grep -E '(^|/)(utils?|common|helpers?|misc)\.[a-z]+$' "$work/names" > "$work/found"
while IFS= read -r file; do
    echo "$file: name it by its noun"
    failed=1
done < "$work/found"

todo=$(printf '%s|%s|%s' TO''DO FIX''ME X''XX)
place=$(printf '/%s/(%s|%s)' wo''rk main shared)
forbid "say the issue's number, as in (#12)" "\\b($todo)\\b(\$|[^(]|\\([^#])" "$work/files"
forbid 'a path of one machine' "($place|/hom''e/[a-z]+/)" "$work/files"
forbid 'left by a merge' '^(<<<''<<<<|>>''>>>>>) ' "$work/files"
vague=$(printf '%s|%s|%s' who''ever no''body some''body)
length=$(printf '%s|%s' 'so ma''ny' 'for so lo''ng')
forbid 'name the person or the thing' "\\b($vague)\\b" "$work/prose" -i
forbid 'say how many, or for how long' "\\b($length)\\b" "$work/prose" -i
forbid 'a tab' '	' "$work/c_files"

[ $failed = 0 ] && echo "words: nothing found that should not be there"
exit $failed
