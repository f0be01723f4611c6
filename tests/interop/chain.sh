#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# chain.sh SERVICE [CURL] - one path through services in four programs; see chain.py. Exit
# 77: a language is not installed.
set -u
. "$(dirname "$0")/languages.sh"
need_language python
need_language node
service=$1
shift
exec "$python" -B "$CPT_SOURCE/tests/interop/chain.py" "$CPT" "$service" "$python" "$node" \
    "$CPT_INTEROP" "$@"
