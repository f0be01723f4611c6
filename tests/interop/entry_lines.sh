#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# entry_lines.sh - logs of entries in Python, in Node and of nginx become path logs. Exit 77:
# Python or Node is not installed; other servers are skipped by name.
set -u
. "$(dirname "$0")/languages.sh"
need_language python
need_language node
rm -f ./*.jsonl ./*.cptlog
exec "$python" -B "$CPT_SOURCE/tests/interop/entry_lines.py" "$CPT" "$CPT_SOURCE" "$python" "$node"
