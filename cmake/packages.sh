#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# packages.sh PACKAGE... - installs those of Debian's packages that are missing, and
# says beforehand with which command. NO_INSTALL=1 forbids it.
set -u
command -v dpkg-query >/dev/null 2>&1 || exit 0 # not Debian: cmake will tell
missing=
for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
        missing="$missing $package"
done
[ -n "$missing" ] || exit 0
sudo=
[ "$(id -u)" = 0 ] || sudo=sudo
echo "cpt: missing packages; $sudo apt-get install -y --no-install-recommends$missing" >&2
if [ "${NO_INSTALL:-0}" = 1 ]; then
    echo "cpt: NO_INSTALL=1 forbids it: install them yourself, then run make again" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -q >&2 &&
    # shellcheck disable=SC2086
    $sudo apt-get install -q -y --no-install-recommends $missing >&2 && exit 0
echo "cpt: could not install them; run the line above by hand to see why" >&2
exit 1
