# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# hostile_spans.sh REPORTS - slack, busy and what-if of spans that no good program writes
# (hostile_spans.py), and of the files in the folder REPORTS, if it is there.
. "$(dirname "$0")/system.sh"
need python3
if [ -n "$CPT_SANITIZE" ]; then
    echo 'skipped: sanitizers take more memory than there may be'
    exit 77
fi
exec python3 "$(dirname "$0")/hostile_spans.py" "$1"
