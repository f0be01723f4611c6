# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# threads that decode paths after a pass for a percentile give the result of one thread
make_log experiment >a.cptlog
make_log experiment >b.cptlog
for jobs in 1 2 2 2 2; do
    cpt aggregate --keep-duplicates -o $jobs.cpttree --no-source --jobs $jobs \
        --where 'path("A: A1") > 0ms' --where 'latency >= p50' a.cptlog b.cptlog
    cmp 1.cpttree $jobs.cpttree && echo "$jobs: the same"
done
