# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# how a term may go on, as shells ask for it: names, marks, values; of files that are long,
# hostile, pipes, or no graphs
. "$(dirname "$0")/requests.sh"
ask() {
    echo "-- $1 '$2'"
    verb=$1 prefix=$2
    shift 2
    cpt --complete "$verb" "$prefix" "$@" | sed 's/ $/ ./'
}
ask set '' cpt whatif spans.json --set ''
ask set 'A: <' spans.json
ask set 'A: b=' spans.json
ask set 'A: b = -' spans.json
ask set 'A: b=5' spans.json
ask set 'A: b=+2m' spans.json
ask set '*=' spans.json
ask set 'no: name=' spans.json
ask cap 'A: b' spans.json
ask cap 'A: b>=' spans.json
ask cap 'A: b>=1' spans.json
ask cut 'A: a' spans.json
ask add 'A: a -> A' spans.json
ask parallel 'A: b > C' spans.json
ask workers '' spans.json
echo '-- a name with marks of its own, one that is not shown, and words of a shell'
sed 's/name=A:%20a/name=A:%20x=1%20->%20y/; s/name=A:%20b/name=A:%20%1b[2J/; s/name=C:%20C1/name=C:%20%24(id)%27%60/' spans.json >odd.json
cpt --complete set '' odd.json
cpt --complete set 'A: x=1' odd.json
cpt --complete set 'A: x=1 -> y=' odd.json
echo '-- nothing'
mkfifo pipe
make_log experiment >paths.cptlog
cpt --complete set '' pipe - paths.cptlog absent
cpt --complete set "$(printf '%01100d' 0)" spans.json
echo '-- a long file is read in part, and so a log'
for service in A B C; do
    make_graphs $service 8 >$service.cptgraph
    truncate -s 8G $service.cptgraph
done
cpt --complete set 'B: ' ./*.cptgraph pipe
cp paths.cptlog long.cptlog
truncate -s 8G long.cptlog
cpt --complete keys '' long.cptlog
