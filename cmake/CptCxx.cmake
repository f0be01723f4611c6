# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# Looks for a C++ compiler: CMAKE_CXX_COMPILER, false without one. Who includes this
# enables the language where it is needed. check_language() keeps in the cache that it
# found none, so it is made to look again: the compiler may have been installed since the
# folder was configured first, as between `make demo` and `make test`.
include(CheckLanguage)
if(NOT CMAKE_CXX_COMPILER)
    unset(CMAKE_CXX_COMPILER CACHE)
endif()
check_language(CXX)
