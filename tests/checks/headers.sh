#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# headers.sh SOURCE - every public header compiles alone, as C11 and as C++17, and
# includes only public ones of ours; in one folder, as a user has them. In C++ a mistake in
# a row of a graph does not compile. They declare no more functions than FUNCTIONS_MAX.
set -u
cd "$1" || exit 2
. tests/checks/files.sh
FUNCTIONS_MAX=375
cc=${CC:-cc}
cxx=${CXX:-c++}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failed=0
count=0

mkdir "$work/cpt"
for header in cpt/cpt_*.h */cpt_*.h framework/transport/cpt_*.h; do
    cp "$header" "$work/cpt/"
done
for header in $(private_headers); do
    [ -e "$header" ] || { echo "$header is not there"; failed=1; }
    rm -f "$work/cpt/$(basename "$header")"
done
functions=$(cat "$work"/cpt/*.h | tr '\n' ' ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' |
    grep -oE 'CPT_API [^;(]*[ *]cpt_[a-z0-9_]+\(' | wc -l)
[ "$functions" -le $FUNCTIONS_MAX ] ||
    { echo "$functions functions are installed, of at most $FUNCTIONS_MAX"; failed=1; }

for header in "$work"/cpt/*.h; do
    name=$(basename "$header")
    count=$((count + 1))
    for bad in $(sed -n 's/^#include "\(.*\)".*/\1/p' "$header" |
        sed 's|.*/||'); do
        [ -e "$work/cpt/$bad" ] && continue
        echo "$name includes \"$bad\", which is not public"
        failed=1
    done
    grep -q CPT_BEGIN_DECLS "$header" && grep -q CPT_END_DECLS "$header" || {
        echo "$name lacks CPT_BEGIN_DECLS or CPT_END_DECLS"
        failed=1
    }
    echo "#include <cpt/$name>" > "$work/alone.c"
    cp "$work/alone.c" "$work/alone.cc"
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$work" \
        "$work/alone.c" || { echo "$name does not compile alone as C11"; failed=1; }
    command -v "$cxx" >/dev/null 2>&1 || continue
    "$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$work" \
        "$work/alone.cc" || { echo "$name does not compile alone as C++17"; failed=1; }
done

# In C++ a row takes its lists in their order, and only in that; a value is plain memory.
row() # EXPECTED WHAT TEXT
{
    {
        echo '#include <cpt/cpt_graph.h>'
        echo '#include <string>'
        echo '#include <utility>'
        echo 'CPT_VALUE(a, int);'
        echo 'CPT_VALUE(b, int);'
        echo 'typedef std::pair<int, const char *> pair;'
        echo 'static cpt_status run(struct cpt_task *) { return CPT_OK; }'
        echo "$3"
        echo 'int main() { return run(nullptr); }'
    } > "$work/row.cc"
    if "$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Werror -Wno-unused \
        -fsyntax-only -I "$work" "$work/row.cc" \
        > "$work/row.out" 2>&1; then
        [ "$1" = compiles ] || { echo "C++: $2 compiles"; failed=1; }
    else
        [ "$1" = refused ] || { echo "C++: $2 is refused"; cat "$work/row.out"; failed=1; }
    fi
}

if command -v "$cxx" >/dev/null 2>&1; then
    def='static const struct cpt_task_def def ='
    row compiles 'a row of needs' "$def {\"t\", run, CPT_GIVES(a), CPT_NEEDS(b)};"
    row compiles 'a row of all lists' "$def {\"t\", run, CPT_GIVES(a), CPT_NEEDS_NOTHING,
        CPT_STARTS(b), nullptr, CPT_WANTS(a), nullptr};"
    row compiles 'a row with lists that are left out' "$def {\"t\", run, CPT_GIVES(a), {NULL},
        {NULL}, NULL, {&cpt_value_a, &cpt_value_b}, NULL};"
    row compiles 'a list that is read like an array' 'struct cpt_task_def def = {};
        const struct cpt_value *first = (def.needs[0] = &cpt_value_a, def.needs[0]);'
    row refused 'wants in the place of starts' \
        "$def {\"t\", run, CPT_GIVES(a), CPT_NEEDS(b), CPT_WANTS(a)};"
    row refused 'starts in the place of needs' \
        "$def {\"t\", run, CPT_GIVES(a), CPT_STARTS(b)};"
    row refused 'needs twice' \
        "$def {\"t\", run, CPT_GIVES(a), CPT_NEEDS(b), CPT_NEEDS(a)};"
    row compiles 'a value with a cleanup' 'struct owner { char *text; };
        static void free_owner(owner *value) { delete[] value->text; }
        CPT_VALUE_CLEANED(c, owner, free_owner);'
    row compiles 'a plain value' 'struct plain { int x[4]; const char *text; };
        CPT_VALUE(c, plain); CPT_VALUE(d, pair); CPT_VALUE_OR(e, plain, {{1}, "x"});'
    row refused 'a value with a destructor' 'CPT_VALUE(c, std::string);'
    row refused 'a default with a destructor' 'CPT_VALUE_OR(c, std::string, "x");'
fi
[ $failed = 0 ] && echo "headers: $count public headers compile alone; $functions functions"
exit $failed
