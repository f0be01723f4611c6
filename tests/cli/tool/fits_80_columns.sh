# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# help, man pages and tables fit 80 columns, whatever the names
LC_ALL=C.UTF-8
COLUMNS=80
export LC_ALL COLUMNS
make_log experiment >a.cptlog
make_log hostile >b.cptlog
make_log markup >c.cptlog
fits() { grep -E '^.{81,}' | sed "s/^/$1: /"; } # WHAT: standard input
for page in '' demo events metadata log show aggregate merge load report diff culprit contention busy slack experiment whatif web precision plan pprof folded; do
    cpt $page --help | fits "help of $page"
    # what is set as it is in a man page: tables are indented once, examples twice
    cpt --man $page | awk '/^\.nf/ { as_is = 1 } /^\.fi/ { as_is = 0 }
        as_is { gsub(/\\-/, "-"); gsub(/\\e/, "\\"); if (length($0) > (/^ / ? 73 : 66)) print }' |
        sed "s/^/man page $page: /"
done
for log in a b c; do
    for command in report log 'log --paths' show precision; do
        cpt $command $log.cptlog 2>/dev/null | fits "$command"
    done
done
cpt plan a.cptlog | fits plan
for by in stack name service edge; do
    cpt diff a.cptlog --base arm=control --new arm=treatment --by $by | fits "diff by $by"
done
cpt precision --top 5 a.cptlog | fits precision
