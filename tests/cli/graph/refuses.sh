# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# What cpt graph refuses; a port at which nothing listens, and a program without plans.
try() {
    "$@"
    echo "status $?"
}
try cpt graph
try cpt graph --prefix cpt 127.0.0.1:1
try cpt graph 127.0.0.1:1
try cpt graph true
