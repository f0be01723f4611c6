# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# one request at random, each equally likely; the slowest of a sample
make_log experiment >a.cptlog
for seed in 1 2 3; do
    cpt show --sample 1 --seed $seed a.cptlog | sed -n 2p
done
cpt show --sample 20 --slowest a.cptlog | head -4
cpt show --sample 1 --where 'arm == "none"' a.cptlog
