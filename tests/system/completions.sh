# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# The completions in each shell, as if the tab key were pressed. Shells that are not
# installed are skipped.
. "$(dirname "$0")/system.sh"

here=$(cd "$(dirname "$0")" && pwd)
tried=0

# What the shells ask the tool for is asked by its name.
PATH=$(dirname "$CPT"):$PATH
export PATH
cp "$here/../data/walkthrough/paths.cptlog" paths.cptlog

# The commands, as the tool lists them.
commands=$("$CPT" --help | sed -n '/^[Cc]ommands/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$commands" | wc -l)" -gt 10 ] || fail "which commands are there: $commands"

# expect WHAT WANTED GOT
expect() {
    [ "$2" = "$3" ] || fail "$1: '$3', not '$2'"
}

try_zsh() {
    rm -rf zsh functions
    mkdir zsh functions
    "$CPT" --completion zsh >functions/_cpt
    cat >zsh/.zshrc <<'END'
fpath=($PWD/functions $fpath)
autoload -U compinit
compinit -D -u
setopt no_beep
show() { print -r -- "$BUFFER|" >line }
zle -N show
bindkey '^X' show
zle-line-init() { print yes >started }
zle -N zle-line-init
END
    : >'some log.cptlog'
    expect "zsh, a command" "cpt report |" "$(zsh -f "$here/completions.zsh" 'cpt rep')"
    expect "zsh, an option" "cpt report --include-forced |" \
        "$(zsh -f "$here/completions.zsh" 'cpt report --inc')"
    expect "zsh, the value of one" "cpt diff --by service |" \
        "$(zsh -f "$here/completions.zsh" 'cpt diff --by ser')"
    expect "zsh, a file" 'cpt report some\ log.cptlog |' \
        "$(zsh -f "$here/completions.zsh" 'cpt report so')"
    expect "zsh, a key" 'cpt report paths.cptlog --where region=|' \
        "$(zsh -f "$here/completions.zsh" 'cpt report paths.cptlog --where reg')"
    expect "zsh, a value" 'cpt report paths.cptlog --where arm=treatment|' \
        "$(zsh -f "$here/completions.zsh" 'cpt report paths.cptlog --where arm=tr')"
    # the options of every command work
    set --
    for command in $commands; do
        set -- "$@" "cpt $command --hel"
    done
    zsh -f "$here/completions.zsh" "$@" >got
    for command in $commands; do
        echo "cpt $command --help |"
    done | cmp - got || fail "zsh, --help of each command"
}

# completed TEXT: what fish offers for it, without the descriptions.
completed() {
    HOME=$PWD fish --no-config -c 'source cpt.fish; complete -C $argv[1]' "$1" | cut -f1
}

try_fish() {
    "$CPT" --completion fish >cpt.fish
    expect "fish, a command" "report" "$(completed 'cpt rep')"
    expect "fish, all commands" "$(echo "$commands" | sort)" "$(completed 'cpt ' | sort)"
    expect "fish, an option" "--include-forced" "$(completed 'cpt report --inc')"
    expect "fish, the value of one" "edge name service stack" \
        "$(completed 'cpt diff --by ' | sort | tr '\n' ' ' | sed 's/ $//')"
    expect "fish, keys" "arm= page= region=" \
        "$(completed 'cpt report paths.cptlog --where ' | sort | tr '\n' ' ' | sed 's/ $//')"
    expect "fish, a value" "arm=treatment" \
        "$(completed 'cpt report paths.cptlog --where arm=tr')"
    for command in $commands; do
        expect "fish, --help of $command" "--help" "$(completed "cpt $command --hel")"
    done
}

for shell in zsh fish; do
    if command -v "$shell" >/dev/null 2>&1; then
        say "$shell"
        "try_$shell"
        tried=$((tried + 1))
    else
        say "$shell is not installed"
    fi
done
[ "$tried" -ne 0 ] || exit 77
