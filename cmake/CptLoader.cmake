# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# The last step of an installation of shared libraries: lets the loader find them, or
# says how it does. Nothing if the installation is staged (DESTDIR), as for a package.
# Needs CPT_LIBDIR, relative to the prefix.
if(DEFINED ENV{DESTDIR} AND NOT "$ENV{DESTDIR}" STREQUAL "")
    return()
endif()

set(libdir ${CMAKE_INSTALL_PREFIX}/${CPT_LIBDIR})
find_program(cpt_ldconfig ldconfig PATHS /sbin /usr/sbin /usr/local/sbin)
find_program(cpt_id id)
set(searched FALSE)
set(user "")
if(cpt_ldconfig)
    # The folders that it looks in, without writing anything.
    execute_process(COMMAND ${cpt_ldconfig} -N -X -v OUTPUT_VARIABLE folders ERROR_QUIET)
    string(FIND "\n${folders}" "\n${libdir}:" place)
    if(NOT place EQUAL -1)
        set(searched TRUE)
    endif()
endif()
if(cpt_id)
    execute_process(COMMAND ${cpt_id} -u OUTPUT_VARIABLE user ERROR_QUIET
        OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

if(NOT searched)
    message(STATUS "cpt: the loader does not look in ${libdir}. Programs that are linked by "
        "pkg-config or CMake find the libraries there by themselves; others need "
        "-Wl,-rpath,${libdir} or LD_LIBRARY_PATH=${libdir}")
elseif(NOT user STREQUAL "0")
    message(STATUS "cpt: run 'sudo ldconfig' once, so that programs find the libraries in "
        "${libdir}")
else()
    execute_process(COMMAND ${cpt_ldconfig} RESULT_VARIABLE failed ERROR_VARIABLE why)
    if(failed)
        message(WARNING "cpt: ldconfig failed: ${why}Programs do not find the libraries in "
            "${libdir} before it has run")
    else()
        message(STATUS "cpt: programs find the libraries in ${libdir}; ldconfig has run")
    endif()
endif()
