# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a sample of the selected records, in the order of the log; equal seeds give equal samples
make_log experiment >a.cptlog
make_log services >b.cptlog
cpt log --json a.cptlog >all
cpt log --json --sample 7 a.cptlog >seven
wc -l <seven
grep -Fxf seven all | cmp - seven && echo 'in their order'
cpt log --json --sample 7 --seed 1 a.cptlog | cmp - seven && echo 'seed 1 is the usual one'
cpt log --json --sample 7 --seed 2 a.cptlog >other
cmp -s seven other || echo 'another seed, another sample'
cpt log --json --sample 1000 a.cptlog | cmp - all && echo 'more than there are: all'
cpt log --json --seed 3 a.cptlog | cmp - all && echo 'a seed alone: up to 100,000'
cpt log --sample 1 --where arm=control a.cptlog | head -3
echo 'several logs, merged into one:'
cpt log --sample 9 -o c.cptlog b.cptlog a.cptlog
cpt log --json c.cptlog | wc -l
cpt log --check c.cptlog
cpt log --sample 5 -o d.cptlog --where 'arm == "none"' a.cptlog
cpt log --json d.cptlog | wc -l
make_log damaged >e.cptlog
cpt log --json --sample 3 e.cptlog | wc -l
echo 'where a sample means nothing:'
cpt log --sample 3 --check a.cptlog
cpt log --seed 3 --follow a.cptlog
cpt log --sample 3 --repair d.cptlog a.cptlog
