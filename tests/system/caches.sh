# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# caches.sh SOURCE ROUNDS - a caching proxy before every hop: no path of another request; see
# caches.py. Proxies and languages that are not installed are left out.
. "$(dirname "$0")/system.sh"
. "$1/tests/interop/languages.sh"
need curl
need_language python
(need_language node) || node=
exec "$python" -B "$1/tests/system/caches.py" "$CPT" "$CPT_HELPERS" "$1/examples/interop" \
    "$python" "$node" "$2"
