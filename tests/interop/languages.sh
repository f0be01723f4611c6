# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# Sourced: the programs that run the implementations of examples/interop/.
# shellcheck shell=sh

# Where a language's program is. That of Debian comes first, as it has Debian's packages
# (grpcio, requests); another may be anywhere.
python=/usr/bin/python3
[ -x "$python" ] || python=$(command -v python3) || python=
node=$(command -v node || command -v nodejs) || node=

# Skips the test, and says why, without the language or with one that is too old.
need_language() # LANGUAGE
{
    case $1 in
    python)
        [ -n "$python" ] || { echo "skipped: there is no python3"; exit 77; }
        "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
            { echo "skipped: $python is older than 3.9"; exit 77; }
        ;;
    node)
        [ -n "$node" ] || { echo "skipped: there is no node"; exit 77; }
        "$node" -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18 ? 1 : 0)' ||
            { echo "skipped: $node is older than 18"; exit 77; }
        ;;
    *) echo "languages.sh: no language $1"; exit 1 ;;
    esac
}

# The command that answers `cpt-conformance`.
conformance_command() # LANGUAGE
{
    case $1 in
    python) echo "'$python' -B -S '$CPT_INTEROP/python/cpt_trace.py' --conformance" ;;
    node) echo "'$node' '$CPT_INTEROP/node/cpt_trace.js' --conformance" ;;
    esac
}
