#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# unit.sh LANGUAGE [TEST] - the tests of an implementation in its own language: those of
# TEST, by default of `test_<language>`. Exit 77: the language is not installed.
set -u
. "$(dirname "$0")/languages.sh"
need_language "$1"
test=$CPT_SOURCE/tests/interop/${2:-test_$1}
case $1 in
python) exec "$python" -B -W error::ResourceWarning "$test.py" "$CPT_INTEROP/python" ;;
node) exec "$node" "$test.js" "$CPT_INTEROP/node" ;;
esac
