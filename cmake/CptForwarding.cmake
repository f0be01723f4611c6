# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# Makes wire/forwarding-headers.made.h of wire/forwarding-headers.txt, in CPT_MADE_DIR:
# CPTI_FORWARDING_RULES(X) with X(is, "via") …, and CPTI_FORWARDING_EXAMPLES(X) with
# X(yes, "X-Real-IP") … What includes it adds that folder.
set(CPT_MADE_DIR ${PROJECT_BINARY_DIR}/made)
set(made ${CPT_MADE_DIR}/wire/forwarding-headers.made.h)
set(list_file ${PROJECT_SOURCE_DIR}/wire/forwarding-headers.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list_file})
file(STRINGS ${list_file} lines)
set(rules)
set(examples)
foreach(line ${lines})
    if(line MATCHES "^(is|begins|ends) +([a-z0-9-]+)$")
        string(APPEND rules " \\\n    X(${CMAKE_MATCH_1}, \"${CMAKE_MATCH_2}\")")
    elseif(line MATCHES "^(yes|no) +([A-Za-z0-9-]+)$")
        string(APPEND examples " \\\n    X(${CMAKE_MATCH_1}, \"${CMAKE_MATCH_2}\")")
    elseif(NOT line MATCHES "^(#.*)?$")
        message(FATAL_ERROR "${list_file}: '${line}' is no rule and no example")
    endif()
endforeach()
set(text "/* Made by cmake/CptForwarding.cmake: do not edit. */
#define CPTI_FORWARDING_RULES(X)${rules}
#define CPTI_FORWARDING_EXAMPLES(X)${examples}
")
set(before)
if(EXISTS ${made})
    file(READ ${made} before)
endif()
if(NOT text STREQUAL before) # else nothing is compiled again
    file(WRITE ${made} "${text}")
endif()
