# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# cmake -DOUTPUT=x.c -DFOLDER=tool/commands/help -P CptHelp.cmake
#
# Makes a C file of the help texts *.txt of FOLDER, each of which has the name of its
# command; see tool/commands/help.h. "{part}" in a text stands for parts/part.txt. Lines of a
# paragraph are joined: help and man pages fill them again. A line that begins with a blank
# stays as it is; an empty line separates such lines from others.
foreach(name OUTPUT FOLDER)
    if(NOT DEFINED ${name})
        message(FATAL_ERROR "CptHelp: ${name} is missing")
    endif()
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/CptBytes.cmake)
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.txt)
list(SORT files)
set(arrays)
set(table)
foreach(file ${files})
    string(REGEX REPLACE "[.]txt$" "" name "${file}")
    file(READ ${FOLDER}/${file} text)
    while(text MATCHES "{([a-z]+)}") # a part may have others
        set(part ${CMAKE_MATCH_1})
        file(READ ${FOLDER}/parts/${part}.txt part_text)
        string(REGEX REPLACE "\n$" "" part_text "${part_text}")
        string(REPLACE "{${part}}" "${part_text}" text "${text}")
    endwhile()
    string(REGEX REPLACE "\n+$" "" text "${text}")
    string(ASCII 1 gap)
    string(REPLACE "\n\n" "${gap}" text "${text}")
    string(REGEX REPLACE "\n([^ ])" " \\1" text "${text}")
    string(REPLACE "${gap}" "\n\n" text "${text}")
    string(HEX "${text}" hex)
    cpt_chars(bytes "${hex}")
    string(APPEND arrays "\nstatic const char text_${name}[] = {\n${bytes}};\n")
    string(APPEND table "    {\"${name}\", text_${name}},\n")
endforeach()
file(WRITE ${OUTPUT} "/* Made by cmake/CptHelp.cmake: do not edit. */
#include \"tool/commands/help.h\"
${arrays}
const struct cpti_help_text cpti_help_texts[] = {
${table}    {0},
};
")
