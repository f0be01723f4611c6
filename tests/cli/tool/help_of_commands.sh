# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# every command has a usage, options and at least two examples
for command in demo metadata log show aggregate merge load report diff culprit contention precision plan pprof folded; do
    cpt $command --help >help || echo "$command: $?"
    cpt help $command | cmp - help
    grep -q "^usage: cpt $command" help || echo "$command: no usage"
    grep -q '^exit status:' help || echo "$command: no exit status"
    test "$(sed -n '/^examples:/,$p' help | grep -c '^  [a-z]')" -ge 2 || echo "$command: examples"
    awk -v command=$command 'length($0) > 80 { print command ": " $0 }' help
done
cpt report --help
