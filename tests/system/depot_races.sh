# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# depot_races.sh MAKE_LOG [READS] - a depot to which two processes add, from which one drops, and that
# others read at the same time: no reader fails, no record that was added is lost but by
# dropping it, and nothing is left. READS: how many reports are made.
. "$(dirname "$0")/system.sh"
make_log=$1
reads=${2:-60}
rm -rf depot added dropped failures stop ./*.cptlog said.*
mkdir depot failures
"$make_log" traced >one.cptlog
"$make_log" experiment >two.cptlog
records_each=$("$CPT" log --json one.cptlog | wc -l)

# A file is made when the loops are to end; one in failures/ when something went wrong.
add_loop()
{
    while [ ! -e stop ]; do
        "$CPT" depot add depot one.cptlog >>"added.$1" 2>"said.add$1" ||
            cp "said.add$1" failures/
    done
}

drop_loop()
{
    while [ ! -e stop ]; do
        "$CPT" depot drop --keep 60k depot >>"dropped.$1" 2>"said.drop$1" || {
            grep -q 'has no path log' "said.drop$1" || cp "said.drop$1" failures/
        }
    done
}

rm -f added.* dropped.*
"$CPT" depot add depot two.cptlog >none
for number in 1 2; do
    add_loop $number &
    started="$started $!"
    drop_loop $number &
    started="$started $!"
done
loops=$started

number=0
while [ $number -lt "$reads" ]; do
    number=$((number + 1))
    case $((number % 5)) in
    0) "$CPT" report depot ;;
    1) "$CPT" depot list depot ;;
    2) "$CPT" report --group-by method depot ;;
    3) "$CPT" depot get depot 30313233343536373839616263646566 ;;
    4) "$CPT" log --check depot ;;
    esac >said.out 2>said.err || {
        # a depot may have no log, or not this trace, for a moment
        grep -qE 'has no (path log|trace)|no request is selected|no record' said.err ||
            { cp said.err "failures/read$number"; cp said.out "failures/out$number"; }
    }
done
: >stop
for pid in $loops; do
    wait "$pid"
done
started=

[ "$(ls failures | wc -l)" = 0 ] ||
    fail "$(ls failures | wc -l) of $number reads and loops: $(head -3 failures/*)"

say 'each log that was added is there, or was dropped by name'
sort added.* >added
sort dropped.* | uniq >dropped
[ "$(wc -l <added)" -gt 10 ] || fail "only $(wc -l <added) logs were added"
while read -r path; do
    [ -e "$path" ] || grep -qxF "$path" dropped || fail "$path is lost"
done <added
for path in depot/*.cptlog; do
    count=$("$CPT" log --json "$path" | wc -l)
    [ "$count" = "$records_each" ] || [ "$path" = "$(head -1 none)" ] ||
        fail "$path has $count records"
done

say 'nothing is left beside them'
"$CPT" depot drop --keep 100G depot
for ids in depot/.*.ids; do
    log=${ids#depot/.}
    [ ! -e "$ids" ] || [ -e "depot/${log%.ids}" ] || fail "$ids has no log"
done
[ -z "$(ls -A depot | grep -E '\.[A-Za-z0-9]{6}$' | grep -v 'cptlog$')" ] ||
    fail "unfinished: $(ls -A depot)"
say "$(wc -l <added) logs added, $(wc -l <dropped) dropped, $number reads"
