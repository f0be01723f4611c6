# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# cmake -DOUTPUT=x.c -DHEADER=x.h -DPREFIX=p_ -DFOLDER=f -DFILES=a.html,b.css
#       -P CptEmbed.cmake
#
# Makes a C file with a NUL-terminated array of characters for each extension of FILES in
# FOLDER: p_html, p_css. Files with the same extension follow each other in one array. No
# file may contain a NUL byte or the end of a <script>.
foreach(name OUTPUT HEADER PREFIX FOLDER FILES)
    if(NOT DEFINED ${name})
        message(FATAL_ERROR "CptEmbed: ${name} is missing")
    endif()
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/CptBytes.cmake)
string(REPLACE "," ";" files "${FILES}")
set(text "/* Made by cmake/CptEmbed.cmake: do not edit. */\n#include \"${HEADER}\"\n")
set(extensions)
foreach(file ${files})
    get_filename_component(extension ${file} EXT)
    string(SUBSTRING ${extension} 1 -1 extension)
    list(APPEND extensions ${extension})
    file(READ ${FOLDER}/${file} hex HEX)
    if(NOT extension STREQUAL "html" AND hex MATCHES "3c2f(53|73)(43|63)") # </sc
        message(FATAL_ERROR "CptEmbed: ${file} would end the script that it becomes")
    endif()
    string(APPEND hex_${extension} "${hex}")
endforeach()
list(REMOVE_DUPLICATES extensions)
foreach(extension ${extensions})
    cpt_chars(bytes "${hex_${extension}}")
    string(APPEND text "\nconst char ${PREFIX}${extension}[] = {\n${bytes}};\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
