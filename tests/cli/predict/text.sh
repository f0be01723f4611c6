# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# users, most of whom have slow requests or fast ones
make_log sessions >a.cptlog
cpt predict a.cptlog --key user --threshold 2500ms
cpt predict a.cptlog --key user --threshold 2500ms --where user=u9
cpt predict a.cptlog --key user --threshold 10s | sed -n '1,3p;5,8p'
cpt predict a.cptlog a.cptlog --key user --threshold 2.5s | head -n 2
# in the order of time, whatever the order of the files is
cpt log a.cptlog --where 'user in ("u0", "u1")' -o first.cptlog
cpt log a.cptlog --where 'not (user in ("u0", "u1"))' -o second.cptlog
cpt predict second.cptlog first.cptlog --key user --threshold 2500ms | sed -n '2p;6,8p'
