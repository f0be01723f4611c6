# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# programs that are wrong, each in its own way; and the seed is told
try()
{
    echo "--- $1"
    cpt-conformance --cases 1 --timeout 20 "$1" >out
    status=$?
    grep -A 2 -m 1 '^wrong' out
    tail -1 out
    echo "exit status $status"
}
try cat
try true
try 'exit 3'
try 'kill -SEGV $$'
try 'while read -r number rest; do echo "$number"; done'
try 'while read -r number rest; do echo "$number none"; done'
try 'read -r line; echo 0 none; cat >/dev/null'
try 'tr -d "\n" </dev/zero'
try 'while read -r number rest; do printf "%s none\r\n" "$number"; done; exit 9'
echo "--- silent"
cpt-conformance --timeout 0.01 --json 'exec sleep 1000' | tr '{' '\n' |
    grep -m 1 '"detail"' | sed 's/"sent".*//'
echo "--- the table"
cpt-conformance --seed 18446744073709551615 true | head -14
cpt-conformance --seed 18446744073709551615 true | tail -1
