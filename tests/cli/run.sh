#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# run.sh CPT MAKE_LOG SCRIPT - runs one test of the command line
#
# The script runs in an empty folder with `cpt`, `make_log` and `make_graphs`, which is
# beside that, as commands; what it prints is compared with SCRIPT.stdout and
# SCRIPT.stderr beside it (no file: nothing), its exit status with SCRIPT.exit (no file: 0). CPT_RECORD=1 writes these files instead:
# read the difference before you commit it. A script that exits with 77 is skipped.
# Nothing may be left in the folder for temporary files, nor half a file beside its name.
set -u
cpt=$1
make_log=$2
script=$3
expected=${script%.sh}

scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT INT TERM
mkdir "$scratch/bin" "$scratch/work" "$scratch/tmp"
ln -s "$cpt" "$scratch/bin/cpt"
ln -s "$(dirname "$cpt")/cpt-conformance" "$scratch/bin/cpt-conformance"
ln -s "$make_log" "$scratch/bin/make_log"
ln -s "$(dirname "$make_log")/make_graphs" "$scratch/bin/make_graphs"

# The output must not depend on width, colours, language or time zone.
PATH=$scratch/bin:$PATH
HOME=$scratch/work
LC_ALL=C
TZ=Pacific/Chatham
COLUMNS=100
NO_COLOR=1
TMPDIR=$scratch/tmp
export PATH HOME LC_ALL TZ COLUMNS NO_COLOR TMPDIR

(cd "$scratch/work" && sh -u "$script") \
    >"$scratch/stdout" 2>"$scratch/stderr" </dev/null
echo $? >"$scratch/exit"
if [ "$(cat "$scratch/exit")" = 77 ]; then # what it needs is not here, and it said so
    cat "$scratch/stdout" "$scratch/stderr"
    exit 77
fi

left=$(
    find "$scratch/tmp" -mindepth 1
    find "$scratch/work" -name '.*.??????' ! -name '*.cptlog' ! -name '*.abcdef'
)
if [ -n "$left" ]; then
    echo "$script: left behind: $left" >&2
    exit 1
fi

if [ "${CPT_RECORD:-0}" = 1 ]; then
    for part in stdout stderr; do
        if [ -s "$scratch/$part" ]; then
            cp "$scratch/$part" "$expected.$part"
        else
            rm -f "$expected.$part"
        fi
    done
    if [ "$(cat "$scratch/exit")" = 0 ]; then
        rm -f "$expected.exit"
    else
        cp "$scratch/exit" "$expected.exit"
    fi
    exit 0
fi

echo 0 >"$scratch/none.exit"
: >"$scratch/none.stdout"
: >"$scratch/none.stderr"
failed=0
for part in stdout stderr exit; do
    wanted=$expected.$part
    [ -f "$wanted" ] || wanted=$scratch/none.$part
    if ! diff -u "$wanted" "$scratch/$part"; then
        echo "$script: $part is not as expected" >&2
        failed=1
    fi
done
exit $failed
