#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# packages.sh PACKAGE... - installs the missing ones of these Debian packages, and prints
# the command first. NO_INSTALL=1 forbids it. Of A,B,C any one is enough; without one, A
# is installed.
set -u
command -v dpkg-query >/dev/null 2>&1 || exit 0 # not Debian: cmake reports what is missing
missing=
for package in "$@"; do
    # shellcheck disable=SC2046
    dpkg-query -W -f='${Status}\n' $(echo "$package" | tr , ' ') 2>/dev/null |
        grep -q 'ok installed' || missing="$missing ${package%%,*}"
done
[ -n "$missing" ] || exit 0

sudo=
[ "$(id -u)" = 0 ] || sudo='sudo '
echo "cpt: missing packages; ${sudo}apt-get update &&" \
    "${sudo}apt-get install -y --no-install-recommends$missing" >&2
if [ "${NO_INSTALL:-0}" = 1 ]; then
    echo "cpt: NO_INSTALL=1 forbids it: install them yourself, then run make again" >&2
    exit 1
fi
if [ -n "$sudo" ] && ! command -v sudo >/dev/null 2>&1; then
    echo "cpt: you are not root and there is no sudo: run the line above as root," \
        "then run make again" >&2
    exit 1
fi

# As arguments of env, because sudo does not pass on the environment.
run()
{
    # shellcheck disable=SC2086
    ${sudo}env DEBIAN_FRONTEND=noninteractive "$@" </dev/null >&2
}
# A package may contain a server. The tests start servers themselves, as plain programs;
# this file keeps Debian from starting one as a daemon (invoke-rc.d(8)).
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'run rm -f "$policy"' EXIT
    run sh -c "printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy"
fi
# The source that cannot be updated may be another than the one with the packages.
run apt-get update -q || echo "cpt: apt-get update failed; trying to install nevertheless" >&2
# shellcheck disable=SC2086
if run apt-get install -q -y --no-install-recommends $missing; then
    exit 0
fi
echo "cpt: could not install them; run the line above by hand to see why" >&2
exit 1
