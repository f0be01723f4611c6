# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# cpt log --follow continues with the next file: of a writer that rotates, of a log that
# is moved away, and of a log that is truncated.
. "$(dirname "$0")/system.sh"

rm -rf logs
mkdir logs

# numbers FILE: the printed record numbers, one on each line.
numbers()
{
    sed -n 's/.*"meta":{"number":\([0-9]*\)}.*/\1/p' "$1"
}

seq 0 199 >wanted

# Another process writes into the same folder; its records must not be printed.
"$CPT_HELPERS/log_rotating" logs 200 2000 5 & writer=$!
started="$started $writer"
sleep 0.1
first=$(ls logs | head -1)
"$CPT_HELPERS/log_rotating" logs 40 2000 20 & other=$!
started="$started $other"
"$CPT" log --json --follow "logs/$first" >lines || fail "following a writer that rotates"
wait $writer $other
[ "$(ls logs | wc -l)" -gt 10 ] || fail "the writer did not rotate"
numbers lines | cmp - wanted || fail "records of a writer that rotates"

# seen FILE: waits until all records that are in FILE by now have been printed.
seen()
{
    wanted=$("$CPT" log --json "$1" 2>/dev/null | wc -l)
    tries=0
    while [ "$(wc -l <lines)" -lt "$wanted" ]; do
        tries=$((tries + 1))
        [ $tries -lt 200 ] || fail "$1: $(wc -l <lines) of $wanted records were printed"
        sleep 0.1
    done
}

# One file, moved away and begun anew, and truncated in the end.
rm -rf once
mkdir once
"$CPT_HELPERS/log_rotating" once 200 2000 0
set -- once/*
: >lines
head -c 1000 "$1" >moved.cptlog
"$CPT" log --json --follow moved.cptlog >lines & reader=$!
started="$started $reader"
seen moved.cptlog
tail -c +1001 "$1" | head -c 700 >>moved.cptlog
seen moved.cptlog
mv moved.cptlog moved.1
cat "$2" >moved.new
mv moved.new moved.cptlog
wait $reader || fail "following a log that was moved away"
"$CPT" log --json moved.1 "$2" 2>/dev/null >all
cmp lines all || fail "records of a log that was moved away"

: >lines
head -c 1700 "$1" >cut.cptlog
"$CPT" log --json --follow cut.cptlog >lines & reader=$!
started="$started $reader"
seen cut.cptlog
sleep 0.5 # and the end of the last block, which is not complete
head -c 600 "$2" >cut.cptlog
sleep 0.5
tail -c +601 "$2" >>cut.cptlog
wait $reader || fail "following a log that was cut"
cmp lines all || fail "records of a log that was cut"
