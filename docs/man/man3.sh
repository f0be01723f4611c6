#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# man3.sh VERSION FOLDER HEADER... - writes a page of section 3 for each header into
# FOLDER, and for each function a page that points to it.
set -eu
version=$1
folder=$2
shift 2
here=$(dirname "$0")
rm -rf "$folder"
mkdir -p "$folder"
for header in "$@"; do
    page=$(basename "$header" .h)
    : > "$folder/functions"
    awk -v version="$version" -v functions="$folder/functions" \
        -f "$here/header_to_man.awk" "$header" > "$folder/$page.3"
    [ -s "$folder/$page.3" ] || {
        echo "man3.sh: $header does not begin with '/* $page.h - what it is for'" >&2
        exit 1
    }
    while IFS= read -r function; do
        [ "$function" = "$page" ] || echo ".so man3/$page.3" > "$folder/$function.3"
    done < "$folder/functions"
    rm "$folder/functions"
done
