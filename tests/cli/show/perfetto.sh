# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# a path as a trace of Perfetto
make_log services >a.cptlog
cpt show --perfetto a.pftrace a.cptlog
tests=$(cd "$(dirname "$0")/.." && pwd)
python3 "$tests/perfetto_text.py" a.pftrace
