#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# first_day.sh SOURCE root|user [FOLDER] - the two commands of the README, `make demo` and
# `make test`, in their order, in a clone of what is committed, on a Debian 12 that has
# nothing but git, make and certificates, as root or as a user with sudo
#
# By hand, as root: `make first-day`; some 25 minutes each. The system is made by debootstrap
# in FOLDER, or in a temporary one, which is removed; its packages come from where apt of
# this machine gets its own.
set -eu
source=$(cd "$1" && pwd)
who=$2
[ "$(id -u)" = 0 ] || { echo "first_day: debootstrap needs root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "first_day: no debootstrap" >&2; exit 77; }
made=
folder=${3:-}
[ -n "$folder" ] || { folder=$(mktemp -d) && made=$folder; }
mkdir -p "$folder"
root=$folder/root

leave()
{
    for place in dev/pts dev/shm dev sys proc; do
        ! mountpoint -q "$root/$place" || umount -l "$root/$place"
    done
    [ -z "$made" ] || rm -rf --one-file-system "$made"
}
trap leave EXIT
trap 'exit 99' INT TERM

# Where this machine's apt finds Debian, and how it gets there.
mirror=$(sed -n 's/^URIs: *\([^ ]*\/debian\)\/* *$/\1/p; s/^deb *\(\[[^]]*\] *\)*\([^ ]*\/debian\)\/* .*/\2/p' \
    /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null | head -n 1)
echo "first_day: a new Debian 12 in $root"
debootstrap --variant=minbase --include=git,make,ca-certificates,sudo bookworm "$root" \
    ${mirror:+"$mirror"} >"$folder/debootstrap.txt" 2>&1 || {
    tail -n 20 "$folder/debootstrap.txt"
    exit 1
}
for option in /etc/apt/apt.conf.d/*; do
    ! grep -qi 'proxy\|verify' "$option" || cp "$option" "$root/etc/apt/apt.conf.d/"
done
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
mount --bind /proc "$root/proc"
mount --bind /sys "$root/sys"
mount --bind /dev "$root/dev"
mkdir -p "$root/dev/pts" "$root/dev/shm"
mount --bind /dev/pts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"

home=/root
become=
if [ "$who" = user ]; then
    home=/home/newcomer
    chroot "$root" useradd --create-home --shell /bin/bash newcomer
    echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/newcomer"
    become='sudo -u newcomer -H'
fi
git clone -q "$source" "$root$home/cpt"
[ "$who" != user ] || chroot "$root" chown -R newcomer: "$home/cpt"

# Runs one command of the README in the clone.
day()
{
    echo "first_day: $who: make $1"
    # shellcheck disable=SC2086
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
        HOME=$home LANG=C chroot "$root" $become sh -c "cd $home/cpt && make $1" \
        >"$folder/$1.txt" 2>&1 </dev/null || {
        tail -n 200 "$folder/$1.txt"
        echo "first_day: $who: make $1 FAILED"
        exit 1
    }
    grep -E 'tests passed|tests failed' "$folder/$1.txt" || true
}
day demo
day test
echo "first_day: $who: both commands pass"
