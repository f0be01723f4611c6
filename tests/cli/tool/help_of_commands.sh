# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# every command has a usage, options and at least two examples
for command in $(cpt --help | sed -n '/^commands/,/^$/s/^  \([a-z]*\) .*/\1/p') FILE; do
    cpt $command --help >help || echo "$command: $?"
    [ $command = collect ] || cpt help $command | cmp - help # collect is a group, too
    sed -n '1,/^options/p' help | grep -q '^[A-Z].*' || echo "$command: no description"
    grep -q "^usage: cpt $command" help || echo "$command: no usage"
    grep -q '^exit status:' help || echo "$command: no exit status"
    test "$(sed -n '/^examples:/,$p' help | grep -c '^  [a-z]')" -ge 2 || echo "$command: examples"
    awk -v command=$command 'length($0) > 80 { print command ": " $0 }' help
done
cpt report --help
