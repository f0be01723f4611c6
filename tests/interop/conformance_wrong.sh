#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# conformance_wrong.sh LANGUAGE - `cpt-conformance` finds each fault of
# wrong_answers.py, in the groups that it is of and in no others. Exit 77: the language, or
# Python, is not installed.
set -u
. "$(dirname "$0")/languages.sh"
need_language "$1"
need_language python
command=$(conformance_command "$1")
wrong="'$python' -B -S '$(dirname "$0")/wrong_answers.py'"
failed=0

# The groups that have wrong answers.
failing_groups()
{
    "$CPT-conformance" --cases 40 --timeout 120 --json "$1" >result.json
    "$python" -B -S - <<'PY'
import json
print(*(group["group"] for group in json.load(open("result.json"))["groups"]
        if group["cases"] != group["right"]))
PY
}

eval "$wrong --list" >faults || exit 1
while IFS='|' read -r fault groups others; do
    found=" $(failing_groups "$wrong '$fault' $command" </dev/null) "
    for group in $groups; do
        case $found in
        *" $group "*) ;;
        *) echo "'$fault' is not found in $group, but in:$found"; failed=1 ;;
        esac
    done
    for group in $found; do
        case " $groups $others " in
        *" $group "*) ;;
        *) echo "'$fault' is found in $group, too"; failed=1 ;;
        esac
    done
done <faults
echo "$(wc -l <faults) faults"
exit $failed
