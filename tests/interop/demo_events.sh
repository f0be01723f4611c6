#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# demo_events.sh SOURCE BUILD - paths of a system that is not traced, from its logs; see
# demo_events.py. Says what is not installed: exit 77.
PATH=$PATH:/usr/sbin:/sbin # a person's has no daemons
. "$1/tests/interop/languages.sh"
need_language python
for service in a b c; do
    [ -x "$2/examples/figure1_$service" ] || {
        echo "skipped: the services of the demo were not built"
        exit 77
    }
done
exec "$python" -B "$1/tests/interop/demo_events.py" "$2/cpt" "$2/examples"
