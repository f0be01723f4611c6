# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# The completions in each shell, as if the tab key were pressed. Shells that are not
# installed are skipped.
. "$(dirname "$0")/system.sh"

here=$(cd "$(dirname "$0")" && pwd)
make_graphs=${1:-}
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
    mkdir -p zsh functions
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
    expect "zsh, a file alone" "cpt paths.cptlog |" "$(zsh -f "$here/completions.zsh" 'cpt path')"
    expect "zsh, a group" "cpt help fix |" "$(zsh -f "$here/completions.zsh" 'cpt help fi')"
    expect "zsh, an option" "cpt report --include-forced |" \
        "$(zsh -f "$here/completions.zsh" 'cpt report --include-fo')"
    expect "zsh, the value of one" "cpt diff --by service |" \
        "$(zsh -f "$here/completions.zsh" 'cpt diff --by ser')"
    expect "zsh, a file" 'cpt report some\ log.cptlog |' \
        "$(zsh -f "$here/completions.zsh" 'cpt report so')"
    expect "zsh, a key" 'cpt report paths.cptlog --where region=|' \
        "$(zsh -f "$here/completions.zsh" 'cpt report paths.cptlog --where reg')"
    expect "zsh, a key of groups" 'cpt report paths.cptlog --group-by region |' \
        "$(zsh -f "$here/completions.zsh" 'cpt report paths.cptlog --group-by reg')"
    expect "zsh, a value" 'cpt report paths.cptlog --where arm=treatment|' \
        "$(zsh -f "$here/completions.zsh" 'cpt report paths.cptlog --where arm=tr')"
    if [ -n "$make_graphs" ]; then
        terms "$here/completions.zsh" >got
        cmp - got <<'END' || fail "zsh, terms: $(cat got)"
cpt whatif graphs --set 'B: B2 ‹queue›=|
cpt whatif graphs --set "B: B2 ‹queue›=|
cpt whatif graphs --set B:\ B2\ ‹queue›=|
cpt whatif graphs --set 'B: B2=-50%' |
cpt whatif graphs --set "B: B2=10us" |
cpt whatif graphs --set B:\ B2=+2ms |
cpt whatif --set 'B: B2=0' graphs --cap B:\ B1\<=|
cpt whatif graphs --cut 'B: B1 -> B: B2' |
END
    fi
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

# bash: like zsh in a terminal of its own, which zsh gives it.
try_bash() {
    command -v zsh >/dev/null 2>&1 || return 0
    "$CPT" --completion bash >cpt.bash
    cat >bashrc <<'RC'
. ./cpt.bash
bind 'set bell-style none'
bind -x '"\C-x": printf "%s|\n" "$READLINE_LINE" >line'
PROMPT_COMMAND='echo yes >started'
RC
    sed 's/zpty shell .*/zpty shell bash --rcfile bashrc -i/' "$here/completions.zsh" >bash.zsh
    expect "bash, a command" "cpt report |" "$(zsh -f bash.zsh 'cpt rep')"
    expect "bash, a file alone" "cpt paths.cptlog |" "$(zsh -f bash.zsh 'cpt path')"
    expect "bash, a group" "cpt help fix |" "$(zsh -f bash.zsh 'cpt help fi')"
    expect "bash, the value of one" "cpt diff --by service |" \
        "$(zsh -f bash.zsh 'cpt diff --by ser')"
    expect "bash, a file after a term" "cpt whatif --set 'A: A1=0' paths.cptlog |" \
        "$(zsh -f bash.zsh "cpt whatif --set 'A: A1=0' pat")"
    [ -n "$make_graphs" ] || return 0
    expect "bash, a term behind the option's =" 'cpt whatif graphs --set=B:\ B2\ ‹queue›=|' \
        "$(zsh -f bash.zsh 'cpt whatif graphs --set=B:\ B2\ ‹q')"
    terms bash.zsh >got
    cmp - got <<'END' || fail "bash, terms: $(cat got)"
cpt whatif graphs --set 'B: B2 ‹queue›='|
cpt whatif graphs --set "B: B2 ‹queue›="|
cpt whatif graphs --set B:\ B2\ ‹queue›=|
cpt whatif graphs --set 'B: B2=-50%' |
cpt whatif graphs --set "B: B2=10us" |
cpt whatif graphs --set B:\ B2=+2ms |
cpt whatif --set 'B: B2=0' graphs --cap B:\ B1\<=|
cpt whatif graphs --cut 'B: B1 -> B: B2' |
END
}

# terms SCRIPT: what becomes of terms of cpt whatif that begin so.
terms() {
    zsh -f "$1" "cpt whatif graphs --set 'B: B2 ‹q" 'cpt whatif graphs --set "B: B2 ‹q' \
        'cpt whatif graphs --set B:\ B2\ ‹q' \
        "cpt whatif graphs --set 'B: B2=-50%" 'cpt whatif graphs --set "B: B2=10u' \
        'cpt whatif graphs --set B:\ B2=+' "cpt whatif --set 'B: B2=0' graphs --cap B:\\ B1\\<" \
        "cpt whatif graphs --cut 'B: B1 -> B: B2"
}

# completed TEXT: what fish offers for it, without the descriptions.
completed() {
    HOME=$PWD fish --no-config -c 'source cpt.fish; complete -C $argv[1]' "$1" | cut -f1
}

try_fish() {
    "$CPT" --completion fish >cpt.fish
    expect "fish, a command" "report" "$(completed 'cpt rep')"
    expect "fish, all commands" "$(printf '%s\n' $commands help | sort)" "$(completed 'cpt ' | sort)"
    expect "fish, a file alone" "./paths.cptlog" "$(completed 'cpt ./pat')"
    expect "fish, a group" "fix" "$(completed 'cpt help fi')"
    expect "fish, an option" "--include-forced" "$(completed 'cpt report --include-fo')"
    expect "fish, the value of one" "edge name service stack" \
        "$(completed 'cpt diff --by ' | sort | tr '\n' ' ' | sed 's/ $//')"
    expect "fish, keys" "arm= page= region=" \
        "$(completed 'cpt report paths.cptlog --where ' | sort | tr '\n' ' ' | sed 's/ $//')"
    expect "fish, keys of groups" "arm page region" \
        "$(completed 'cpt report paths.cptlog --group-by ' | sort | tr '\n' ' ' | sed 's/ $//')"
    expect "fish, keys of culprits" "region" "$(completed 'cpt contention paths.cptlog --by reg')"
    expect "fish, a value" "arm=treatment" \
        "$(completed 'cpt report paths.cptlog --where arm=tr')"
    if [ -n "$make_graphs" ]; then
        expect "fish, terms" "B: B2= B: B2 ‹queue›=" \
            "$(completed "cpt whatif graphs --set 'B: B2" | sort -r | tr '\n' ' ' | sed 's/ $//')"
        expect "fish, a term in other quotes" "B: B2=-50%" \
            "$(completed 'cpt whatif graphs --set "B: B2=-50%')"
        expect "fish, a term without quotes" "B: B2=+2ms" \
            "$(completed 'cpt whatif graphs --set B:\ B2=+')"
        expect "fish, an edge" "B: B1 -> B: B2" \
            "$(completed "cpt whatif graphs --cut 'B: B1 -> B: B2")"
    fi
    for command in $commands; do
        expect "fish, --help of $command" "--help" "$(completed "cpt $command --hel")"
    done
}

if [ -n "$make_graphs" ]; then
    mkdir -p graphs
    for service in A B C; do
        "$make_graphs" $service 8 >graphs/$service.cptgraph
    done
fi

for shell in bash zsh fish; do
    if command -v "$shell" >/dev/null 2>&1; then
        say "$shell"
        "try_$shell"
        tried=$((tried + 1))
    else
        say "$shell is not installed"
    fi
done
[ "$tried" -ne 0 ] || exit 77
