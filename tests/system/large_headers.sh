# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# large_headers.sh SOURCE COUNT [grpc] - COUNT requests, each untraced and traced, whose
# replies carry other headers, through five proxies; see large_headers.py. CPT_TEST_REQUESTS
# is another count. Proxies and languages that are not installed are left out.
. "$(dirname "$0")/system.sh"
. "$1/tests/interop/languages.sh"
need_language python
(need_language node) || node=
GRPC_VERBOSITY=NONE
export GRPC_VERBOSITY
source=$1
shift
exec "$python" -B "$source/tests/system/large_headers.py" "$CPT_HELPERS" \
    "$source/examples/interop" "$python" "$node" "$@"
