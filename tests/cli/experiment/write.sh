# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# an experiment is put into a file of settings, and out of it; nothing bad is written
echo 'probability = 0.05' >front.conf
cpt experiment --write front.conf --delta 5ms --guard 250ms --frames 'A: A1, B: B2' --each 30s --for 600s
cpt experiment --write front.conf --delta 2ms --guard 250ms --frames all --share 0.25 --burn
cat front.conf
cpt experiment --write front.conf --delta 200ms --guard 250ms --frames all; echo $?
cpt experiment --write front.conf --delta 5ms --frames all; echo $?
cpt experiment --write front.conf --delta '5ms; burn' --guard 1s --frames all; echo $?
cpt experiment --write front.conf a.cptlog; echo $?
cpt experiment; echo $?
cat front.conf
cpt experiment --write front.conf --off
cpt experiment --write users.conf --asked 100/s --delta 5ms
cat front.conf users.conf
printf 'tracing = off\nprobability = 0.0' >cut.conf
cpt experiment --write cut.conf --off; echo $?
: >empty.conf
cpt experiment --write empty.conf --off; echo $?
cat cut.conf; echo
ls
