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
             touch "a b.cptlog"; COMP_WORDS=(cpt report a); COMP_CWORD=2; _cpt
             echo "${#COMPREPLY[@]} ${COMPREPLY[@]}"'
fi
cpt --completion tcsh
