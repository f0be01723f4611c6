# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# zsh -f completions.zsh TEXT...: for each one what stands on the line of an interactive
# shell after TEXT and the tab key. The shell's settings are in ./zsh/.zshrc.
zmodload zsh/zpty
export ZDOTDIR=$PWD/zsh TERM=vt100

# waits FILE: until it is there.
waits() {
    local tries
    for tries in {1..200}; do
        [[ -s $1 ]] && return
        sleep 0.05
    done
    print -u2 "no $1"
    exit 1
}

for text; do
    rm -f started line
    zpty shell zsh -d -i
    waits started
    zpty -w -n shell $text$'\t\C-x'
    waits line
    print -r -- "$(<line)"
    zpty -d shell
done
