# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# mixed_versions.sh SOURCE - services of this version and of 0.1 in one chain; see
# mixed_versions.py. Languages that are not installed are left out.
. "$(dirname "$0")/system.sh"
. "$1/tests/interop/languages.sh"
need_language python
(need_language node) || node=
kept=$(find "$1/tests/data/metadata/v1" -name '*.bin' | sort | head -1)
exec "$python" -B "$1/tests/system/mixed_versions.py" "$CPT" "$CPT_HELPERS" \
    "$1/examples/interop" "$python" "$node" "$kept"
