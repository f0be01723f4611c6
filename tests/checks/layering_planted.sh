#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# layering_planted.sh SOURCE - layering.sh finds planted faults: in a copy of the tree
# without git, one wrong include in each room, and whatever else the table forbids.
set -u
cd "$1" || exit 2
. tests/checks/files.sh
copy=$(mktemp -d) || exit 2
trap 'rm -rf "$copy"' EXIT
failed=0
count=0

sources '[ch]' cc cpp hpp proto txt sh | grep -v '^tests/data/' | tar -cf - -T - | tar -xf - -C "$copy"

# plant FILE LINE: layering.sh must name FILE; then FILE is as before.
plant()
{
    count=$((count + 1))
    [ -e "$copy/$1" ] && cp "$copy/$1" "$copy/kept"
    mkdir -p "$copy/$(dirname "$1")"
    echo "$2" >> "$copy/$1"
    if sh tests/checks/layering.sh "$copy" > "$copy/found"; then
        echo "$1: $2: was not found"
        failed=1
    elif ! grep -qF "$1:" "$copy/found"; then
        echo "$1: $2: was found elsewhere:"
        cat "$copy/found"
        failed=1
    fi
    rm -f "$copy/$1"
    [ -e "$copy/kept" ] && mv "$copy/kept" "$copy/$1"
}

sh tests/checks/layering.sh "$copy" || { echo "layering_planted: fails before"; exit 1; }

# Into the first file of each room, a private header that only one room may use.
for room in $(sed -n 's/^room \([^:]*\):.*/\1/p' tests/checks/rooms.txt); do
    [ "$room" = tests ] && continue
    for file in "$room"/*.c; do break; done
    [ -e "$file" ] || continue
    case $room in
        framework/transport*) plant "$file" '#include "tool/base/output.h"' ;;
        *) plant "$file" '#include "framework/transport/http/loop/http_loop.h"' ;;
    esac
done

# Upwards in a list, and into private headers of others.
plant framework/pool/pool.c '#include "framework/run/request.h"'
plant framework/run/task.c '#include "framework/service/service.h"'
plant framework/graph/graph.c '  #  include "framework/run/request.h"'
plant tool/select/when.c '#include "tool/gather/gather.h"'
plant tool/base/output.c '#include "tool/command_table.h"'
plant aggregate/tree/tree.c '#include "wire/cpt_log.h"'
plant wire/headers/ask.c '#include "cpt/path/path.h"'
plant examples/01_one_service.c '#include "framework/cpt_graph.h"'
# By other ways than quotes and the path in the tree.
plant aggregate/tree/tree.c '#include <framework/run/request.h>'
plant aggregate/tree/tree.c '#include <cpt/cpt_graph.h>'
plant aggregate/tree/tree.c '#include "cpt/cpt_graph.h"'
plant aggregate/tree/tree.c '#include "../framework/run/request.h"'
plant aggregate/tree/tree.c '#include HEADER'
plant cpt/base/container.h '#include "cpt/path/path.h"'
# Headers of the system, a folder that is not in the table, a function that is not inline.
plant aggregate/tree/tree.c '#include <pthread.h>'
plant pprof-export/profile/folded.c '#include <cbor.h>'
plant other/new.c '#include "cpt/cpt_path.h"'
plant framework/builder/new.c '#include "cpt/cpt_path.h"'
plant framework/run/deeper/new.h '#include "cpt/cpt_path.h"'
plant cpt/base/utf8.h 'int cpti_utf8_count(void);'
plant tests/checks/rooms.txt 'room framework/low: framework/high'

[ $failed = 0 ] && echo "layering_planted: all $count planted faults were found"
exit $failed
