# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# cmake -DOUTPUT=x.c -DFOLDER=tests/data/metadata -P CptVectors.cmake
#
# Makes a C file of the *.bin files in v1/ and bad/ of FOLDER, in the order of their names;
# see tool/conform/conform_vectors.h.
foreach(name OUTPUT FOLDER)
    if(NOT DEFINED ${name})
        message(FATAL_ERROR "CptVectors: ${name} is missing")
    endif()
endforeach()
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/v1/*.bin ${FOLDER}/bad/*.bin)
list(SORT files)
set(text "/* Made by cmake/CptVectors.cmake: do not edit. */\n#include \"tool/conform/conform_vectors.h\"\n")
set(table)
set(number 0)
foreach(file ${files})
    file(READ ${FOLDER}/${file} hex HEX)
    string(LENGTH "${hex}" digits)
    math(EXPR bytes "${digits} / 2")
    string(REGEX REPLACE "(..)" "0x\\1," values "${hex}")
    set(one "0x..,")
    string(REGEX REPLACE "(${one}${one}${one}${one}${one}${one}${one}${one}${one}${one})"
        "\\1\n" values "${values}")
    string(REGEX REPLACE "[.]bin$" "" name "${file}")
    string(APPEND text "\nstatic const unsigned char data_${number}[] = {\n${values}0};\n")
    string(APPEND table "    {\"${name}\", data_${number}, ${bytes}},\n")
    math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "${text}
const struct cpti_conform_vector cpti_conform_vectors[] = {
${table}};

const size_t cpti_conform_vector_count = ${number};
")
