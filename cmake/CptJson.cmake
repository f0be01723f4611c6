# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# Sets CPT_JSON to the library that reads JSON: simdjson, if it and a C++ compiler are
# there, else jansson; empty without either, and then `cpt import`, `wait` and `graph` say
# so. A language is enabled for folders below, so this belongs into the top folder's file.
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON IMPORTED_TARGET GLOBAL jansson)
set(CPT_JSON)
if(CPT_WITH_SIMDJSON)
    include(CptCxx)
    find_package(simdjson QUIET)
    if(CMAKE_CXX_COMPILER AND simdjson_FOUND)
        enable_language(CXX)
        set(CPT_JSON simdjson)
    endif()
endif()
if(NOT CPT_JSON AND JANSSON_FOUND)
    set(CPT_JSON jansson)
endif()
if(NOT CPT_JSON)
    message(STATUS "cpt: neither simdjson nor jansson, so no cpt import, wait, graph")
endif()
