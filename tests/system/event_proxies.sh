# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# event_proxies.sh - the logs of nginx, HAProxy and Apache in a row: what `cpt events check`
# proposes makes them traceable; see event_proxies.py. Exit 77 if one is not installed.
. "$(dirname "$0")/system.sh"
need python3
exec python3 -B "$(dirname "$0")/event_proxies.py" "$CPT"
