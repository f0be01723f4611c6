#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# layering.sh SOURCE - what the files of each folder may include.
#
# Public headers alone begin with cpt_, so this table also keeps private headers
# private. Outside libraries and threads stay in the folders that hide them.
set -u
cd "$1" || exit 2
failed=0

complain()
{
    echo "$1: $2"
    failed=1
}

# begins_with WORD PREFIX...
begins_with()
{
    word=$1
    shift
    for prefix in "$@"; do
        case $word in "$prefix"*) return 0 ;; esac
    done
    return 1
}

check_file() # FILE FOLDER OK NOT
{
    grep -n '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$1" > "$list"
    while IFS= read -r line; do
        header=${line#*\"}
        header=${header%%\"*}
        case $header in
            *.pb.h) # generated; in the folder of its schema
                [ -e "$2/$(basename "$header" .pb.h).proto" ] && continue ;;
            */*)
                # shellcheck disable=SC2086
                begins_with "$header" $3 && ! begins_with "$header" $4 && continue ;;
            *) # a header beside a header
                [ -e "$2/$header" ] && continue ;;
        esac
        complain "$1:${line%%:*}" "$2/ may not include \"$header\""
    done < "$list"
}

list=$(mktemp) || exit 2
trap 'rm -f "$list"' EXIT

for folder in cpt wire framework framework/transport aggregate pprof-export \
    cpt/import cpt/store cpt/cli examples; do
    [ -d "$folder" ] || continue
    no=/none/
    case $folder in
        cpt)                 ok='cpt/'; no='cpt/cli/ cpt/import/ cpt/store/' ;;
        wire)                ok='cpt/cpt_ wire/' ;;
        framework)           ok='cpt/cpt_ wire/cpt_ framework/'; no=framework/transport/ ;;
        framework/transport) ok='cpt/cpt_ wire/cpt_ framework/cpt_ framework/transport/' ;;
        aggregate)           ok='cpt/cpt_ aggregate/' ;;
        pprof-export)        ok='cpt/cpt_ aggregate/cpt_ pprof-export/' ;;
        cpt/import)          ok='cpt/cpt_ cpt/import/' ;;
        cpt/store)           ok='cpt/cpt_ wire/cpt_ aggregate/cpt_ cpt/store/' ;;
        cpt/cli)             ok='cpt/cli/ cpt/cpt_ cpt/import/cpt_ cpt/cli/store/store.h
                                 framework/cpt_ framework/transport/cpt_ wire/cpt_
                                 aggregate/cpt_ pprof-export/cpt_' ;;
        examples)            ok='cpt/cpt_' ;; # as a user of the installed library
    esac
    for file in "$folder"/*.c "$folder"/*.h; do
        [ -e "$file" ] && check_file "$file" "$folder" "$ok" "$no"
    done
done

# only_in PATTERN FOLDER...: system headers that no other folder includes.
only_in()
{
    pattern=$1
    shift
    grep -n "^#include <$pattern" cpt/*.[ch] cpt/*/*.[ch] wire/*.[ch] framework/*.[ch] \
        framework/transport/*.[ch] aggregate/*.[ch] pprof-export/*.[ch] > "$list" 2>/dev/null
    while IFS=: read -r file number line; do
        for folder in "$@"; do
            [ "${file%/*}" = "$folder" ] && continue 2
        done
        complain "$file:$number" "$line belongs in: $*"
    done < "$list"
}
only_in 'cbor' wire
only_in 'pb[_.]' wire pprof-export
only_in 'zlib' pprof-export
only_in 'event2/' framework/transport
only_in 'curl/' cpt/store
only_in 'pthread' framework framework/transport cpt/cli cpt/store
only_in 'stdatomic' cpt framework framework/transport cpt/cli

[ $failed = 0 ] && echo "layering: every include goes towards the core"
exit $failed
