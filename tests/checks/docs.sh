#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# docs.sh SOURCE BUILD - what the documents say is true.
#
# Links and files that they name exist; functions that they name are in a public header,
# or in the file named with them; README and CONTRIBUTING name the same ten files to read
# first, in the same order; no recipe ignores an error; no line of their prose is wider
# than 130 columns; and blocks that begin with
#
#     ```console checked
#
# are run: sh runs each line that begins with "$ ", in an empty folder with links to
# tests/ and examples/ of the source tree, where `cpt` and `boundaries` are the programs
# that were built. It must print what stands below the line; a line "..." stands for any
# lines.
set -u
source=$(cd "$1" && pwd) || exit 2
build=$(cd "$2" && pwd) || exit 2
cd "$source" || exit 2
. tests/checks/files.sh
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0

complain()
{
    echo "$1: $2"
    failed=1
}

# Tables and code cannot be broken. A column is a character, not a byte.
LC_ALL=C awk '
    FNR == 1 {
        is_code = 0
    }
    /^ *```/ {
        is_code = !is_code
    }
    !is_code && length($0) > 130 && !/^( *\||    )/ {
        line = $0
        columns = length(line) - gsub(/[\200-\277]/, "", line)
        if (columns > 130) {
            print FILENAME ":" FNR ": " columns " columns, the limit is 130"
            failed = 1
        }
    }
    END {
        exit failed
    }' README.md CONTRIBUTING.md CHANGELOG.md docs/*.md || failed=1

# In code of C and C++, each &error is looked at: a condition, a sentence that is printed,
# or a function that is told. Recipes are copied: what they ignore fails in silence.
check_errors() # PAGE
{
    awk -v page="$1" '
        function finish(    i)
        {
            for (i in open) {
                print page ":" i ": the error is not looked at: " open[i]
                failed = 1
            }
            split("", open)
        }
        /^```(c|cpp)$/ { is_code = 1; next }
        /^```/ { finish(); is_code = 0 }
        !is_code { next }
        /(return|complain|throw|fprintf|cerr).*error/ { split("", open); next }
        /[&]error\)/ { open[FNR] = $0 }
        END { finish(); exit failed }' "$1" || failed=1
    if grep -nE 'curl (-[^ s]* )*-[a-zA-Z]*s[a-zA-Z]* ' "$1" | grep -vE 'curl .*-[a-zA-Z]*S' > "$work/silent"; then
        complain "$1" "curl -s says nothing if it fails, -sS does: $(head -n 1 "$work/silent")"
    fi
}

# The anchors of a page, as code hosts make them from its headings.
anchors()
{
    awk '/^```/ { fenced = !fenced } !fenced && /^#+ / { sub(/^#+ /, ""); print }' "$1" |
        tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

check_links() # PAGE
{
    awk '/^```/ { fenced = !fenced } !fenced' "$1" |
        grep -oE '\]\([^)[:space:]]+\)' | sed 's/^](//; s/)$//' > "$work/links"
    while IFS= read -r link; do
        case $link in http:* | https:* | mailto:*) continue ;; esac
        target=${link%%#*}
        if [ -z "$target" ]; then
            target=$1
        else
            target=$(dirname "$1")/$target
        fi
        if [ ! -e "$target" ]; then
            complain "$1" "a link to $link, which is not there"
            continue
        fi
        case $link in
            *.md#* | \#*)
                anchors "$target" | grep -qxF -e "${link#*#}" ||
                    complain "$1" "a link to $link: no such heading" ;;
        esac
    done < "$work/links"
}

check_names() # PAGE
{
    grep -oE '\bcpt_[a-z0-9_]+\(' "$1" | sort -u | tr -d '(' > "$work/names"
    while IFS= read -r name; do
        grep -qxF "$name" "$work/known" ||
            complain "$1" "$name() is not in a public header"
    done < "$work/names"
    grep -oE '`(cpt|wire|framework|aggregate|pprof-export|tests|docs|examples|cmake)/[A-Za-z0-9_./-]+\.(c|h|md|sh|proto|cmake|txt)`' \
        "$1" | tr -d '`' | sort -u > "$work/names"
    while IFS= read -r name; do
        [ -e "$name" ] || complain "$1" "\`$name\` is not there"
    done < "$work/names"
}

# The files that a page names after its words "ten files", up to the tenth, in order.
ten_files() # PAGE
{
    awk '/ten files/ { seen = 1 } seen' "$1" | grep -oE '`[a-z0-9_/-]+\.[ch]`' |
        tr -d '`' | head -n 10
}

check_ten_files()
{
    ten_files README.md > "$work/ten"
    ten_files CONTRIBUTING.md > "$work/same_ten"
    cmp -s "$work/ten" "$work/same_ten" ||
        complain CONTRIBUTING.md "its ten files are not those of README.md"
    [ "$(sort -u "$work/ten" | wc -l)" = 10 ] || complain README.md "does not name ten files"
    while IFS= read -r name; do
        [ -e "$name" ] || complain README.md "of the ten files, $name is not there"
    done < "$work/ten"
}

# "`f()` (`x.c`" and "`f()` in `x.c`": that file has a function of that name.
check_places() # PAGE
{
    tr '\n' ' ' < "$1" |
        grep -oE '`[a-z0-9_]+\(\)` (\(|in )`[a-z0-9_/-]+\.[ch]`' |
        sed 's/^`\([a-z0-9_]*\).* .*`\(.*\)`$/\1 \2/' > "$work/places"
    while read -r name file; do
        [ -e "$file" ] && ! grep -q "\b$name(" "$file" &&
            complain "$1" "$name() is not in $file"
    done < "$work/places"
}

# Splits the checked blocks of a page into steps: N.command and N.expected.
split_blocks() # PAGE FOLDER
{
    awk -v folder="$2" '
        /^```console checked/ { inside = 1; next }
        /^```/ { inside = 0; next }
        !inside { next }
        /^\$ / {
            step++
            print FNR > (folder "/" step ".line")
            print substr($0, 3) > (folder "/" step ".command")
            printf "" > (folder "/" step ".expected")
            next
        }
        step { print > (folder "/" step ".expected") }' "$1"
}

# equal EXPECTED GOT: the same lines, where "..." in EXPECTED stands for any.
equal()
{
    awk '
        FILENAME == ARGV[1] { want[++wants] = $0; next }
        { got[++gots] = $0 }
        END {
            # i and j advance together; a mismatch goes back to the line after the last "...".
            i = j = 1
            while (j <= gots) {
                if (i <= wants && want[i] == "...") {
                    star = i++
                    mark = j
                } else if (i <= wants && want[i] == got[j]) {
                    i++
                    j++
                } else if (star) {
                    i = star + 1
                    j = ++mark
                } else {
                    exit 1
                }
            }
            while (i <= wants && want[i] == "...") {
                i++
            }
            exit i <= wants
        }' "$1" "$2"
}

check_blocks() # PAGE
{
    rm -rf "$work/steps" "$work/here"
    mkdir "$work/steps" "$work/here"
    split_blocks "$1" "$work/steps"
    ln -s "$source/tests" "$source/examples" "$work/here"
    step=1
    while [ -e "$work/steps/$step.command" ]; do
        base=$work/steps/$step
        (cd "$work/here" && PATH=$build:$build/examples:$build/modules/tests/system:$PATH \
            sh "$base.command" > "$base.got" 2>&1 </dev/null)
        if ! equal "$base.expected" "$base.got"; then
            complain "$1:$(cat "$base.line")" "prints something else:"
            diff "$base.expected" "$base.got" | sed 's/^/    /'
        fi
        steps=$((steps + 1))
        step=$((step + 1))
    done
}

# Names followed by "(" outside comments: declarations, inline functions, macros.
for header in cpt/cpt_*.h */cpt_*.h framework/transport/cpt_*.h; do
    awk '/^\/\*/ || /^ +\/\*/ { comment = 1 } !comment; /\*\// { comment = 0 }' "$header" |
        grep -oE '\bcpt_[a-z0-9_]+\(' | tr -d '('
done | sort -u > "$work/known"
sed -n 's/^function(\(cpt_[a-z_]*\).*/\1/p' cmake/*.cmake tests/CMakeLists.txt \
    examples/CMakeLists.txt >> "$work/known" 2>/dev/null

check_ten_files
steps=0
pages=0
sources md > "$work/pages"
while IFS= read -r page; do
    check_links "$page"
    check_names "$page"
    check_places "$page"
    check_errors "$page"
    if grep -q '^```console checked' "$page"; then
        if [ -x "$build/cpt" ]; then
            check_blocks "$page"
        else
            complain "$page" "needs $build/cpt, which was not built"
        fi
    fi
    pages=$((pages + 1))
done < "$work/pages"

# What public headers say about each other must exist too.
for header in cpt/cpt_*.h */cpt_*.h framework/transport/cpt_*.h; do
    grep -oE '\bcpt_[a-z0-9_]+\(' "$header" | tr -d '(' | sort -u > "$work/names"
    while IFS= read -r name; do
        grep -qxF "$name" "$work/known" ||
            complain "$header" "speaks of $name(), which no public header has"
    done < "$work/names"
done
[ $failed = 0 ] && echo "docs: $pages pages, $steps commands print what they say"
exit $failed
