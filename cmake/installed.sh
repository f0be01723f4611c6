#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# installed.sh install BUILD - installs what is built in the folder BUILD to $PREFIX, below
#     $DESTDIR if that is set, and notes there what it puts there
# installed.sh uninstall - removes that again, and nothing else
#
# The note is $PREFIX/share/cpt/installed.txt, so that neither the sources nor the folder
# of the build are needed later: "f PATH" is a file or link, "d PATH" a folder that was
# made. Paths are without $DESTDIR. It is written before the first file, for an
# installation that fails half way, and has also what earlier ones have put there. A
# folder is removed only if it was made here, and is empty.
set -eu

die() {
    echo "cpt: $*" >&2
    exit 1
}

prefix=${PREFIX:-/usr/local}
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
while [ "$prefix" != "${prefix%/}" ]; do
    prefix=${prefix%/} # empty: the root
done
root=${DESTDIR:-}
case $root in
'' | /*) ;;
*) root=$PWD/$root ;;
esac
note=$prefix/share/cpt/installed.txt

# What an installation to the stage has put there.
list() {
    # the folders above the prefix, and what is in it
    (cd "$stage" && find . -type d | sed 's|^\.|d |; s|^d $|d /|')
    (cd "$stage" && find . ! -type d | sed 's|^\.|f |')
    echo "d $prefix/share" # of the note
    echo "d $prefix/share/cpt"
}

install() {
    stage=$build/stage
    rm -rf "$stage"
    mkdir -p "$stage"
    stage=$(cd "$stage" && pwd)
    DESTDIR=$stage cmake --install "$build" --prefix "$prefix/" > /dev/null
    list > "$build/stage.txt"
    rm -rf "$stage"
    {
        [ ! -f "$root$note" ] || cat "$root$note"
        while IFS= read -r line; do
            # of folders, those that are missing
            if [ "${line#f }" != "$line" ] || [ ! -d "$root${line#d }" ]; then
                printf '%s\n' "$line"
            fi
        done < "$build/stage.txt"
    } | LC_ALL=C sort -u > "$build/installed.txt"
    mkdir -p "$root$prefix/share/cpt"
    cp "$build/installed.txt" "$root$note.new"
    mv "$root$note.new" "$root$note"
    DESTDIR=$root cmake --install "$build" --prefix "$prefix/"
}

# Refuses a note that is not ours, before anything is removed.
check() {
    while IFS= read -r line; do
        path=${line#[df] }
        case $path/ in
        */../* | */./*) die "$root$note: what is '$line'?" ;;
        esac
        case $line in
        "f $prefix/"* | "d $prefix/"*) ;;
        'd /'*) # above the prefix
            case $prefix/ in
            "${path%/}"/*) ;;
            *) die "$root$note: '$line' is not in $prefix" ;;
            esac
            ;;
        *) die "$root$note: what is '$line'?" ;;
        esac
    done < "$root$note"
}

uninstall() {
    [ -f "$root$note" ] ||
        die "there is no $root$note: 'make install' has put nothing there (PREFIX, DESTDIR)"
    check
    lines=$(LC_ALL=C sort -r "$root$note") # folders come after what is in them
    printf '%s\n' "$lines" | while IFS= read -r line; do
        path=$root${line#f }
        case $line in
        f*)
            if [ -d "$path" ] && [ ! -L "$path" ]; then
                echo "cpt: $path is a folder now, and left alone" >&2
            else
                rm -f "$path"
            fi
            ;;
        esac
    done || die "not all of it could be removed"
    rm -f "$root$note"
    printf '%s\n' "$lines" | while IFS= read -r line; do
        case $line in
        d*) rmdir "$root${line#d }" 2> /dev/null || true ;; # else others use it
        esac
    done
    if [ -z "$root" ] && [ "$(id -u)" = 0 ] && command -v ldconfig > /dev/null; then
        ldconfig || true # it forgets the libraries
    fi
    echo "cpt: removed from $root${prefix:-/}"
}

case ${1:-} in
install)
    build=${2:?}
    install
    ;;
uninstall) uninstall ;;
*) die "installed.sh install BUILD, or installed.sh uninstall" ;;
esac
