# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# cpt_module(NAME SOURCES ... PUBLIC_HEADERS ... PRIVATE_HEADERS ... USES ... LINKS ...)
#
# One library for each folder. Warnings, sanitizers, include folders, symbol visibility
# and installation are set here, so that the folder's own file only lists the SOURCES,
# the PUBLIC_HEADERS, the modules of ours that it USES and the outside libraries that it
# LINKS and hides. PRIVATE_HEADERS are for our own tool and libraries of the same version:
# they are not installed, and their functions have the symbol version CPT_PRIVATE, which
# tells in a program that it was not built for any other. PACKAGE http (grpc) puts it in that transport's package, which
# an installation may omit.
#
# cpt_program(NAME SOURCES ... USES ... LINKS ...) does the same for a program.

add_library(cpt_build_options INTERFACE)
target_compile_features(cpt_build_options INTERFACE c_std_11)
target_compile_definitions(cpt_build_options INTERFACE _GNU_SOURCE)
target_compile_options(cpt_build_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
    -Wmissing-prototypes -Wundef -Wvla -Wpointer-arith -Wcast-qual -Wwrite-strings
    -Wformat=2 -fno-common
    -Wno-missing-field-initializers # omitted fields of tables are 0
    -ffp-contract=off) # statistics are the same to the last bit on every machine
if(CPT_WERROR)
    target_compile_options(cpt_build_options INTERFACE -Werror)
endif()
if(CPT_SANITIZE)
    target_compile_options(cpt_build_options INTERFACE
        -fsanitize=${CPT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(cpt_build_options INTERFACE -fsanitize=${CPT_SANITIZE})
endif()

# An installation works with any prefix, also staged below another folder.
file(RELATIVE_PATH CPT_RPATH ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
set(CPT_RPATH "$ORIGIN/${CPT_RPATH}")

set(CPT_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)

# What the SONAME says is what a program stays compatible with: libcpt_core.so.0.1. Before
# 1.0 a minor version may break programs that were compiled before, so it is part of it;
# from 1.0 on only the major version is. The Debian packages have it in their names.
set(CPT_SOVERSION ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
    string(APPEND CPT_SOVERSION .${PROJECT_VERSION_MINOR})
endif()

# cpt_private_functions(RESULT HEADER...): the functions that the headers export.
function(cpt_private_functions result)
    set(functions)
    foreach(header ${ARGN})
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
        file(READ ${header} text)
        string(REGEX MATCHALL "CPT_API [^;(]*[ \n*]cpt_[a-z0-9_]+\\(" declarations "${text}")
        foreach(declaration ${declarations})
            string(REGEX REPLACE ".*[ \n*](cpt_[a-z0-9_]+)\\($" "\\1" function "${declaration}")
            list(APPEND functions ${function})
        endforeach()
    endforeach()
    set(${result} ${functions} PARENT_SCOPE)
endfunction()

function(cpt_module name)
    cmake_parse_arguments(arg "" "PACKAGE"
        "SOURCES;PUBLIC_HEADERS;PRIVATE_HEADERS;USES;LINKS" ${ARGN})
    set(package cpt)
    if(arg_PACKAGE)
        set(package cpt-${arg_PACKAGE})
    endif()
    set_property(GLOBAL APPEND PROPERTY CPT_PACKAGES ${package}) # see CptPackage.cmake
    add_library(${name} ${arg_SOURCES})
    add_library(cpt::${name} ALIAS ${name})
    # Installed headers of all folders are <cpt/cpt_*.h>; the build folder has the same
    # layout, so that examples are compiled as by users.
    foreach(header ${arg_PUBLIC_HEADERS})
        configure_file(${header} ${CPT_INCLUDE_DIR}/cpt/${header} COPYONLY)
        set_property(GLOBAL APPEND PROPERTY CPT_HEADERS
            ${CMAKE_CURRENT_SOURCE_DIR}/${header}) # see docs/man
    endforeach()
    foreach(header ${arg_PRIVATE_HEADERS}) # of a version that had it there
        file(REMOVE ${CPT_INCLUDE_DIR}/cpt/${header})
    endforeach()
    target_include_directories(${name} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
        $<BUILD_INTERFACE:${CPT_INCLUDE_DIR}>
        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    target_link_libraries(${name} PUBLIC ${arg_USES}
        PRIVATE $<BUILD_INTERFACE:cpt_build_options> ${arg_LINKS})
    set_target_properties(${name} PROPERTIES
        C_STANDARD 11 C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON
        VERSION ${PROJECT_VERSION} SOVERSION ${CPT_SOVERSION}
        INSTALL_RPATH "$ORIGIN")
    if(NOT APPLE)
        target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
    endif()
    if(arg_PRIVATE_HEADERS AND NOT APPLE)
        cpt_private_functions(functions ${arg_PRIVATE_HEADERS})
        list(JOIN functions "; " functions)
        set(map ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
        file(GENERATE OUTPUT ${map} CONTENT "CPT_PRIVATE { ${functions}; };\n")
        target_link_options(${name} PRIVATE -Wl,--version-script=${map})
        set_target_properties(${name} PROPERTIES LINK_DEPENDS ${map})
    endif()
    install(TARGETS ${name} EXPORT ${package}-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES ${arg_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cpt)
endfunction()

function(cpt_program name)
    cmake_parse_arguments(arg "" "" "SOURCES;USES;LINKS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE cpt_build_options ${arg_USES} ${arg_LINKS})
    set_target_properties(${name} PROPERTIES C_STANDARD 11 C_VISIBILITY_PRESET hidden
        INSTALL_RPATH "${CPT_RPATH}")
endfunction()
