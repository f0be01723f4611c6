# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# uninstall.sh SOURCE BUILD - 'make uninstall' removes exactly what 'make install' puts,
# below DESTDIR, with any PREFIX: files of others stay, and folders that were there, also
# empty ones. BUILD is installed as 'make install' does with a build of its own.
set -eu
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAIL: $*" >&2
    exit 1
}

# put [PREFIX]: installs below $destdir.
put() {
    (cd "$source" && PREFIX=${1:-/usr/local} DESTDIR=$destdir sh cmake/installed.sh install "$build") \
        > "$work/out" 2>&1 || fail "install: $(cat "$work/out")"
}

take() {
    make -s -C "$source" uninstall PREFIX="${1:-/usr/local}" DESTDIR="$destdir" > "$work/out" 2>&1
}

# all FOLDER: what is in it.
all() {
    (cd "$1" && find . -exec ls -ld --time-style=+ {} + | awk '{ print $1, $NF }' | sort)
}

for prefix in /usr/local /usr "/opt/a b" /; do
    # where there is nothing, not even the folder
    destdir=$work/none
    put "$prefix"
    base=$destdir${prefix%/}
    for file in bin/cpt share/man/man1/cpt.1 share/man/man1/cpt-report.1 include/cpt/cpt_rpc.h \
        share/bash-completion/completions/cpt share/zsh/site-functions/_cpt \
        share/fish/vendor_completions.d/cpt.fish share/cpt/installed.txt; do
        [ -f "$base/$file" ] || fail "$prefix: no $file was installed"
    done
    for name in cpt.pc cpt-config.cmake; do
        find "$destdir" -name "$name" | grep -q . || fail "$prefix: no $name was installed"
    done
    take "$prefix" || fail "$prefix: $(cat "$work/out")"
    [ ! -e "$destdir" ] || fail "$prefix: it leaves $(find "$destdir" | head)"
done

# among files of others
destdir=$work/some
base=$destdir/usr/local
mkdir -p "$base/bin" "$base/share/man/man1" "$base/share/empty" "$base/lib" "$base/include/cpt-other"
echo mine > "$base/bin/cpt-mine"
echo mine > "$base/share/man/man1/cpt-mine.1"
all "$destdir" > "$work/before"
put
echo mine > "$base/include/cpt/mine.h"
put # again: the note has what it had
take || fail "$(cat "$work/out")"
[ -f "$base/include/cpt/mine.h" ] || fail 'it has removed a file beside its headers'
rm -r "$base/include/cpt"
all "$destdir" > "$work/after"
cmp "$work/before" "$work/after" || fail "$(diff "$work/before" "$work/after")"

# what an earlier version has put there goes, too
put
echo 'f /usr/local/bin/cpt-earlier' >> "$base/share/cpt/installed.txt"
touch "$base/bin/cpt-earlier"
put
take || fail "$(cat "$work/out")"
all "$destdir" > "$work/after"
cmp "$work/before" "$work/after" || fail "$(diff "$work/before" "$work/after")"

# nothing is there: it says so, and removes nothing
! take || fail 'nothing was removed, and no one was told'
grep -q 'has put nothing there' "$work/out" || fail "$(cat "$work/out")"
put
! take /usr || fail 'another prefix'
[ -x "$base/bin/cpt" ] || fail 'another prefix was removed'

# a note that is not ours removes nothing
for line in 'f /etc/passwd' 'f /usr/local/../../etc/passwd' 'd /etc' 'x' 'f bin/cpt' ''; do
    cp "$base/share/cpt/installed.txt" "$work/note"
    printf '%s\n' "$line" >> "$base/share/cpt/installed.txt"
    ! take || fail "it has taken '$line'"
    [ -x "$base/bin/cpt" ] || fail "it has removed something: '$line'"
    cp "$work/note" "$base/share/cpt/installed.txt"
done
take || fail "$(cat "$work/out")"
echo "uninstall: nothing is left, and nothing is missing"
