# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# an index spares blocks that hold nothing of the window or the service
make_log indexed >a.cptlog
make_log experiment >b.cptlog
for options in '--since 2026-11-21T06:01:30Z' '--until 2026-11-21T06:00:10Z' \
    '--since 2026-11-21T06:00:30Z --until 2026-11-21T06:01:00Z' '--entry A' '--entry B'; do
    cpt log --json $options b.cptlog >wanted
    cpt log --json $options a.cptlog | cmp - wanted && wc -l <wanted
    cpt log --json $options - <a.cptlog | cmp - wanted
    cat a.cptlog | cpt log --json $options - | cmp - wanted
done
make_log indexed_damaged >c.cptlog
echo 'the damaged block is not looked at:'
cpt log --json --since 2026-11-21T06:01:30Z c.cptlog | wc -l
cpt log --json --entry B c.cptlog | wc -l
echo 'unless everything is checked:'
cpt log --check --since 2026-11-21T06:01:30Z c.cptlog
