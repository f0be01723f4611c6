# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# What cpt wait refuses; and a port at which nothing listens.
try() {
    "$@"
    echo "status $?"
}
try cpt wait
try cpt wait localhost
try cpt wait 127.0.0.1:
try cpt wait 127.0.0.1:port
try cpt wait --prefix cpt 127.0.0.1:1
try cpt wait --fail-if slow 127.0.0.1:1
try cpt wait 127.0.0.1:1 127.0.0.1:2
try cpt wait 127.0.0.1:1
try cpt wait http://127.0.0.1:99999/x
try cpt wait --key front.key https://127.0.0.1:1
try cpt wait --operators-of 127.0.0.1:9 127.0.0.1:1
try cpt wait 127.0.0.1
try cpt wait '[::1]'
