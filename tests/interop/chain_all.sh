#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# chain_all.sh SOURCE BUILD - one path through services in C, on grpc++, in Python and in
# Node, and through nginx; see chain_all.py. Says what is not installed: exit 77.
PATH=$PATH:/usr/sbin:/sbin # a person's has no daemons
. "$1/tests/system/system.sh"
. "$1/tests/interop/languages.sh"
. "$1/tests/system/grpc_middle_build.sh"
need nginx
need_language python
need_language node
GRPC_VERBOSITY=NONE
export GRPC_VERBOSITY
helpers=$2/modules/tests
for program in system/grpc_chain interop/chain_service; do
    [ -x "$helpers/$program" ] || {
        echo "skipped: $program was not built: libgrpc-dev is not installed"
        exit 77
    }
done
build_grpc_middle "$1" "$2"
exec "$python" -B "$1/tests/interop/chain_all.py" "$2/cpt" "$helpers/system" \
    "$helpers/interop/chain_service" "$PWD/grpc_middle" "$python" "$node" \
    "$1/examples/interop"
