# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
# --mode=crisp and --mode=jaeger-ui against models of those tools, on random traces
command -v python3 >/dev/null || { echo "no python3"; exit 77; }
python3 -B "$(dirname "$0")/as_tools.py" "${CPT_TEST_SEED:-$(date +%s)}" "${CPT_TEST_CASES:-2000}" &&
    echo "as those tools"
