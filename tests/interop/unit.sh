#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# unit.sh LANGUAGE - the tests of an implementation in its own language. Exit 77: the
# language is not installed.
set -u
. "$(dirname "$0")/languages.sh"
need_language "$1"
tests=$CPT_SOURCE/tests/interop
case $1 in
python) exec "$python" -B -W error::ResourceWarning "$tests/test_python.py" "$CPT_INTEROP/python" ;;
node) exec "$node" "$tests/test_node.js" "$CPT_INTEROP/node" ;;
esac
