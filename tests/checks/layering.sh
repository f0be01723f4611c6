#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# layering.sh SOURCE - every include keeps to the table of rooms.txt, and every folder
# that holds C is in that table. Only public headers begin with cpt_, so the table also
# keeps private headers private.
set -u
cd "$1" || exit 2
. tests/checks/files.sh
sources '[ch]' cc cpp hpp | awk '
    function complain(where, what)
    {
        print where ": " what
        failed = 1
    }
    function folder_of(path)
    {
        return path ~ /\// ? substr(path, 1, match(path, /\/[^\/]*$/) - 1) : "."
    }
    # The room that a folder belongs to; tests/ is one room with all its folders.
    function room_of(folder)
    {
        return folder ~ /^tests(\/|$)/ ? "tests" : folder
    }
    function read_table(line,    word, count, i, room, what)
    {
        count = split(line, word, " ")
        what = word[1]
        room = word[2]
        sub(/:$/, "", room)
        if (what == "inline") {
            for (i = 2; i <= count; i++) {
                is_inline["cpt/base/" word[i]] = 1
            }
        } else if (what == "compiled") {
            for (i = 2; i <= count; i++) {
                is_inline["cpt/base/" word[i]] = is_compiled["cpt/base/" word[i]] = 1
            }
        } else if (what == "room") {
            is_room[room] = 1
            for (i = 3; i <= count && word[i] != "open"; i++) {
                if (word[i] != "any" && !(word[i] in is_room)) {
                    complain("tests/checks/rooms.txt", room " uses " word[i] ", which is not above it")
                }
                uses[room, word[i]] = 1
            }
            for (i++; i <= count; i++) {
                opens[room, word[i]] = 1
            }
        } else if (what == "never") {
            for (i = 3; i <= count; i++) {
                never[room, word[i]] = 1
            }
        } else if (what == "only") {
            for (i = 3; i <= count; i++) {
                may[room, word[i]] = 1
            }
            only[room] = line
        }
    }
    # Whether a room is this folder or stands in it.
    function is_within(room, folder)
    {
        return room == folder || index(room, folder "/") == 1
    }
    # Whether the table lets room from reach room to through private headers.
    function reaches(from, to,    room, queue, seen, first, last)
    {
        queue[last++] = from
        while (first < last) {
            from = queue[first++]
            for (room in is_room) {
                if (is_within(room, to) && (((from, room) in uses) || ((from, room) in opens))) {
                    return 1
                }
                if (((from, room) in uses) && !(room in seen)) {
                    seen[room] = 1
                    queue[last++] = room
                }
            }
        }
        return 0
    }
    function exists(path,    line)
    {
        if (!(path in known)) {
            known[path] = (getline line < path) >= 0
            close(path)
        }
        return known[path]
    }
    function check_own(where, file, room, header,    folder, name)
    {
        if (header ~ /\.pb\.h$/) { # generated; in the folder of its schema
            name = folder_of(file) "/" header
            sub(/\.pb\.h$/, ".proto", name)
            if (exists(name)) {
                return
            }
        }
        if (header ~ /\.made\.h$/) { # generated; of a list in the tree, free for all rooms
            name = header
            sub(/\.made\.h$/, ".txt", name)
            if (exists(name)) {
                return
            }
        }
        if (header !~ /\//) { # a header beside it
            header = folder_of(file) "/" header
        }
        if (!exists(header)) { # also <cpt/...> of the build folder, written with quotes
            complain(where, "\"" header "\" is not there")
            return
        }
        folder = folder_of(header)
        name = substr(header, length(folder) + 2)
        if ((file in is_inline) && !(header in is_inline) && header !~ /^cpt\/cpt_/) {
            complain(where, "a header that is free for all rooms may not include \"" header "\"")
            return
        }
        if ((room, "any") in uses || room_of(folder) == room || (room, folder) in uses ||
            (header in is_inline)) {
            return
        }
        if (name ~ /^cpt_/ && (room, folder) in opens) {
            return
        }
        complain(where, room "/ may not include \"" header "\"")
    }
    # Whether only this room and some others have what begins so, and it is among them.
    function may_have(room, start,    pair, word)
    {
        for (pair in may) {
            split(pair, word, SUBSEP)
            if (word[1] == start && is_within(room, word[2])) {
                return 1
            }
        }
        return 0
    }
    function check_system(where, room, header,    start)
    {
        if (header ~ /^cpt\/cpt[_.]/ && (room == "tests" || room ~ /^(examples|framework\/cpp)/)) {
            return # an installed header, as users include it
        }
        if (header ~ /^cpt\// || exists(header)) {
            complain(where, "<" header "> is ours: include it with quotes")
        }
        for (start in only) {
            if (index(header, start) == 1 && room != "tests" && room !~ /^(examples|framework\/cpp)/ &&
                !may_have(room, start)) {
                complain(where, "<" header "> does not belong in " room "/: " only[start])
            }
        }
    }
    function check_file(file,    line, count, room, header)
    {
        room = room_of(folder_of(file))
        if (!(room in is_room)) {
            complain(file, room "/ is not in tests/checks/rooms.txt")
            return
        }
        while ((getline line < file) > 0) {
            count++
            if (line ~ /^[ \t]*#[ \t]*include[ \t]*["<]/) {
                header = line
                sub(/^[^"<]*["<]/, "", header)
                sub(/[">].*/, "", header)
                arrows++
                if (line ~ /include[ \t]*"/) {
                    check_own(file ":" count, file, room, header)
                } else {
                    check_system(file ":" count, room, header)
                }
            } else if (line ~ /^[ \t]*#[ \t]*include/) {
                complain(file ":" count, "an include must name its header")
            }
            if ((file in is_inline) && !(file in is_compiled) && line ~ /^[a-z].*\(/ && line !~ /^(static inline|typedef) /) {
                complain(file ":" count, "only static inline functions and types stand here")
            }
        }
        close(file)
        files++
    }
    BEGIN {
        while ((getline line < "tests/checks/rooms.txt") > 0) {
            if (line !~ /^#/ && line != "") {
                read_table(line)
            }
        }
        for (pair in never) {
            split(pair, word, SUBSEP)
            for (room in is_room) {
                if (is_within(room, word[1]) && reaches(room, word[2])) {
                    complain("tests/checks/rooms.txt", "lets " room " reach " word[2])
                }
            }
        }
    }
    { check_file($0) }
    END {
        if (!files) {
            complain(".", "no C was found")
        }
        if (!failed) {
            printf "layering: %d includes of %d files keep to the rooms\n", arrows, files
        }
        exit failed
    }'
