# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# man_pages.sh FOLDER - each man page that the build made fits 80 columns, and man has
# nothing to say against it.
. "$(dirname "$0")/system.sh"
need man col

pages=$(find "$1" -name '*.[357]')
[ "$(echo "$pages" | wc -l)" -gt 100 ] || fail "the pages of $1: $pages"
for command in '' $("$CPT" --help | sed -n '/^commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    "$CPT" --man $command >"cpt-$command.1"
    pages="$pages cpt-$command.1"
done
wide=0
for page in $pages; do
    if [ "$(wc -l <"$page")" -le 2 ]; then
        continue # it points to another page
    fi
    LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>warnings | col -bx >text
    [ ! -s warnings ] || fail "$page: $(head -3 warnings)"
    if LC_ALL=C.UTF-8 grep -E '^.{81,}' text; then
        wide=1
        echo "$page: wider than 80 columns"
    fi
done
[ $wide = 0 ] || fail 'pages are too wide'
