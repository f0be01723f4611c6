# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# pprof.sh - shared by the pprof tests; sourced. pprof_profiles writes the profiles and
# the output expected from pprof, which is the real one.
. "$(dirname "$0")/system.sh"
need go
go tool -n pprof >/dev/null 2>&1 || {
    echo "skipped: go has no tool pprof"
    exit 77
}
PPROF_TMPDIR=$PWD
export PPROF_TMPDIR
tab=$(printf '\t')

# Nothing dropped, nothing rounded.
exact() {
    go tool pprof -unit=ns -nodefraction=0 -edgefraction=0 -nodecount=1000000 "$@" \
        2>pprof.err || fail "pprof $*: $(cat pprof.err)"
}

# The rows of a -top report as "flat TAB cum TAB name", without units, zeros left out,
# sorted.
top_rows() {
    awk 'is_row {
            flat = $1; cum = $4
            sub(/ns$/, "", flat); sub(/ns$/, "", cum)
            name = $0
            for (i = 0; i < 5; i++) sub(/^ *[^ ]+ +/, "", name)
            if (flat != 0 || cum != 0) printf "%s\t%s\t%s\n", flat, cum, name
        }
        $1 == "flat" && $2 == "flat%" { is_row = 1 }' "$1" | LC_ALL=C sort
}

# same WHAT EXPECTED FOUND: both sorted, without being the same file.
same() {
    LC_ALL=C sort "$2" >expected.sorted
    LC_ALL=C sort "$3" >found.sorted
    [ -s expected.sorted ] || fail "$1: nothing is expected"
    diff -u expected.sorted found.sorted >&2 || fail "$1"
}

# profiles SEED: base.pb.gz, new.pb.gz and what they say.
profiles() {
    echo "seed $1"
    "$CPT_HELPERS/pprof_profiles" "$1" . >counts.txt
    read -r base_requests new_requests <counts.txt
}
