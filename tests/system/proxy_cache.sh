# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# proxy_cache.sh - nginx with proxy_cache, which adds no Age, between services; see
# proxy_cache.py. Exit 77 without nginx.
. "$(dirname "$0")/system.sh"
need python3
exec python3 -B "$(dirname "$0")/proxy_cache.py" "$CPT_HELPERS" "$CPT"
