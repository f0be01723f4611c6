#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# spdx.sh SOURCE - every file that can hold a comment names its licence and its authors.
set -u
cd "$1" || exit 2
. tests/checks/files.sh
{
    sources '[ch]' cmake sh awk proto py cddl options
    sources txt | grep '\(^\|/\)CMakeLists\.txt$'
    ls Makefile .ci/run
} | awk '
    function check(file,    line, count, found)
    {
        while (count++ < 5 && (getline line < file) > 0) {
            found += line ~ /SPDX-License-Identifier: Apache-2\.0/
            found += line ~ /SPDX-FileCopyrightText: The cpt authors/
        }
        close(file)
        if (found != 2) {
            print file ": does not begin with the two SPDX lines"
            failed = 1
        }
        files++
    }
    { check($0) }
    END {
        if (!failed) {
            print "spdx: " files " files name their licence"
        }
        exit failed
    }'
