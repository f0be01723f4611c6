# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# proxy_headers.sh COUNT - COUNT replies with paths beside 0 to 7 KiB of other headers,
# through five proxies; see proxy_headers.py. Those that are not installed are skipped;
# exit 77 without any.
. "$(dirname "$0")/system.sh"
need python3
exec python3 -B "$(dirname "$0")/proxy_headers.py" "$CPT_HELPERS" "$1"
