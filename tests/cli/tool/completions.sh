# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# completions name every command and option
for shell in bash zsh fish; do
    cpt --completion $shell >$shell || echo "$shell: $?"
    for word in demo metadata log show aggregate report diff pprof folded include-forced; do
        grep -q -e "$word" $shell || echo "$shell: no $word"
    done
done
if command -v bash >/dev/null; then
    bash -c '. ./bash; COMP_WORDS=(cpt re); COMP_CWORD=1; _cpt; echo "${COMPREPLY[@]}"
             COMP_WORDS=(cpt report --inc); COMP_CWORD=2; _cpt; echo "${COMPREPLY[@]}"
             COMP_WORDS=(cpt culprit --by re); COMP_CWORD=3; _cpt; echo "${COMPREPLY[@]}"
             COMP_WORDS=(cpt culprit --by at); COMP_CWORD=3; _cpt; echo "${COMPREPLY[@]}"
             COMP_WORDS=(cpt help fi); COMP_CWORD=2; _cpt; echo "${COMPREPLY[@]}"
             touch "a b.cptlog"; COMP_WORDS=(cpt report a); COMP_CWORD=2; _cpt
             echo "${#COMPREPLY[@]} ${COMPREPLY[@]}"'
fi
grep -o 'replica attribute.*)' zsh # a colon would end the words
cpt --completion tcsh
echo '-- keys and values of the logs on the command line'
mkdir logs
make_log experiment >logs/a.cptlog
make_log hostile >logs/b.cptlog
mkfifo logs/pipe pipe
bash -c '. ./bash
    try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _cpt; echo "${COMPREPLY[@]}"; }
    try cpt report logs --where ""
    try cpt report pipe logs/a.cptlog nothing --where r
    try cpt diff logs/a.cptlog --base arm =
    try cpt diff logs/a.cptlog --base arm = t
    try cpt diff logs/a.cptlog --mix ""
    try cpt natural logs/a.cptlog --when arm = t
    try cpt natural logs/a.cptlog --equal re
    try cpt predict logs/a.cptlog --key re
    try cpt diff --mix ""'
cpt --complete terms items= logs
cpt --complete terms
echo $?
