# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# hostile_callees.sh [grpc] - callees that send anything in the place of a path; see
# hostile_callees.py. Exit 77: no python3, or none with grpcio.
. "$(dirname "$0")/system.sh"
GRPC_VERBOSITY=NONE
export GRPC_VERBOSITY
# Debian's python has Debian's grpcio; another may be anywhere.
python=/usr/bin/python3
[ -x $python ] || python=python3
need $python
exec $python -B "$(dirname "$0")/hostile_callees.py" "$CPT_HELPERS" "$CPT" "$@"
