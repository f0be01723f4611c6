# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# an index lets blocks outside the window or the service be skipped
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
echo 'and so do selections:'
for where in 'latency > 1s' 'latency > p90' 'has(nothing)' 'service == "B"' 'arm == "control" and latency < p10' \
    'start < 2026-11-21T06:00:10Z or start >= 2026-11-21T06:01:50Z' 'latency > p90 and start >= 2026-11-21T06:01:00Z' \
    'not has(nothing) and not (latency < 1s)' 'has(nothing) or path("B: B2") > 8ms'; do
    cpt log --json --where "$where" b.cptlog >wanted
    cpt log --json --where "$where" a.cptlog | cmp - wanted && wc -l <wanted
    cpt show --slowest --where "$where" b.cptlog >wanted 2>wanted.err
    cpt show --slowest --where "$where" a.cptlog >got 2>got.err
    cmp got wanted && cmp got.err wanted.err
    cpt report --json --where "$where" b.cptlog 2>wanted.err | sed s/b.cptlog/a.cptlog/ >wanted
    cpt report --json --where "$where" a.cptlog >got 2>got.err
    cmp got wanted && cmp got.err wanted.err
done
cpt log --where 'has(nothing)' c.cptlog
cpt show --where 'start >= 2026-11-21T06:01:50Z and latency > p10' --record 115 c.cptlog | head -2
cpt aggregate --where 'mistyped=1' -o none.cpttree c.cptlog
