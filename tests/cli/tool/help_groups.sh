# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# from a question to a command: each group fits one screen and has each of its commands,
# each command is in one group
screen() # WHAT: standard input
{
    awk -v what="$1" 'length($0) > 80 { print what ": " $0 }
        END { if (NR > 24) print what ": " NR " lines" }'
}
cpt | screen cpt
groups=$(cpt --help | sed -n 's/^ \([a-z]*\): .*/\1/p')
for group in $groups; do
    cpt help $group >$group || echo "$group: $?"
    screen $group <$group
    sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' $group
done | sort >found
cpt --help | sed -n '/^commands/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort | diff - found
cpt help questions >questions
screen questions <questions
for command in $(cat found); do
    grep -qw $command questions || echo "questions: no $command"
done
cat fix
cpt help collect | head -1
cpt help fix report
cpt help nonsense
