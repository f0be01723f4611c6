# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# proxies.sh SOURCE - strangers in front of five proxies, and the rules of docs/security.md;
# see proxies.py. Proxies that are not installed are skipped; exit 77 without any.
. "$(dirname "$0")/system.sh"
need python3
exec python3 -B "$(dirname "$0")/proxies.py" "$CPT_HELPERS" "$CPT" "$1/docs/security.md"
