# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# proxy_paths.sh COUNT - COUNT requests with paths of any size through five proxies; see
# proxy_paths.py. Those that are not installed are skipped; exit 77 without any.
. "$(dirname "$0")/system.sh"
need python3
exec python3 -B "$(dirname "$0")/proxy_paths.py" "$CPT_HELPERS" "$1"
