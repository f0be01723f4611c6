#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# conformance.sh LANGUAGE CASES [SEED [FILE...]] - what an implementation reads and writes
# is what ours does, on every case of `cpt-conformance`. Exit 77: the language
# is not installed.
set -u
. "$(dirname "$0")/languages.sh"
language=$1
cases=$2
seed=${3:-1}
shift $(($# < 3 ? $# : 3))
need_language "$language"
command=$(conformance_command "$language")
"$CPT-conformance" --cases "$cases" --seed "$seed" --timeout 120 "$command" "$@"
