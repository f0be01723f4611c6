# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# For projects that build with an installed cpt: find_package(cpt), which gives the
# targets cpt::cpt_core, cpt::cpt_wire ... , and pkg-config's cpt, cpt-http, cpt-grpc.
include(CMakePackageConfigHelpers)

set(CPT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/cpt)

# Shared libraries load their dependencies; those of static ones the program links.
if(BUILD_SHARED_LIBS)
    set(CPT_IS_STATIC OFF)
else()
    set(CPT_IS_STATIC ON)
endif()
get_property(CPT_HAS_ZSTD GLOBAL PROPERTY CPT_HAS_ZSTD) # see wire/
get_property(CPT_HAS_TLS GLOBAL PROPERTY CPT_HAS_TLS) # see framework/transport/

configure_package_config_file(cmake/cpt-config.cmake.in cpt-config.cmake
    INSTALL_DESTINATION ${CPT_CMAKE_DIR})
write_basic_package_version_file(cpt-config-version.cmake
    COMPATIBILITY SameMinorVersion) # of 0.x; SameMajorVersion from 1.0 on
install(FILES ${PROJECT_BINARY_DIR}/cpt-config.cmake
    ${PROJECT_BINARY_DIR}/cpt-config-version.cmake DESTINATION ${CPT_CMAKE_DIR})
get_property(packages GLOBAL PROPERTY CPT_PACKAGES)
list(REMOVE_DUPLICATES packages)
foreach(package ${packages})
    install(EXPORT ${package}-targets NAMESPACE cpt:: DESTINATION ${CPT_CMAKE_DIR})
endforeach()

# cpt_pkg_config(NAME DESCRIPTION REQUIRES PRIVATE_REQUIRES LIBRARIES PRIVATE_LIBRARIES)
function(cpt_pkg_config name description requires private_requires libraries
        private_libraries)
    file(RELATIVE_PATH up
        ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
    string(REGEX REPLACE "/$" "" up "${up}")
    # Who links static libraries needs what they use; --static is not necessary then.
    if(NOT BUILD_SHARED_LIBS)
        string(STRIP "${requires} ${private_requires}" requires)
        string(APPEND libraries " ${private_libraries}")
        set(private_requires "")
        set(private_libraries "")
    endif()
    # Where the loader does not look, the program has to.
    set(rpath "")
    if(BUILD_SHARED_LIBS AND NOT CMAKE_INSTALL_PREFIX MATCHES "^(/usr(/local)?)?/?$")
        set(rpath " -Wl,-rpath,\${libdir}")
    endif()
    configure_file(cmake/cpt.pc.in ${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

set(libraries "")
foreach(library cpt_pprof cpt_aggregate cpt_framework cpt_wire cpt_core)
    if(TARGET ${library}) # users before used ones, as static linking requires
        string(APPEND libraries " -l${library}")
    endif()
endforeach()
set(private_requires "libcbor zlib")
if(CPT_HAS_ZSTD)
    string(APPEND private_requires " libzstd")
endif()
cpt_pkg_config(cpt "${PROJECT_DESCRIPTION}" "" "${private_requires}" "${libraries}"
    "-lprotobuf-nanopb -lm -pthread")
if(TARGET cpt_http)
    set(openssl "")
    if(CPT_HAS_TLS)
        set(openssl " openssl")
    endif()
    cpt_pkg_config(cpt-http "the HTTP transport of cpt" "cpt = ${PROJECT_VERSION}"
        "libevent libevent_pthreads${openssl}" " -lcpt_http" "-pthread")
endif()
if(TARGET cpt_grpc)
    cpt_pkg_config(cpt-grpc "the gRPC transport of cpt" "cpt = ${PROJECT_VERSION}"
        "grpc" " -lcpt_grpc" "-pthread")
endif()

# Last, as it is what an installation says at its end.
if(BUILD_SHARED_LIBS)
    install(CODE "set(CPT_LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")")
    install(SCRIPT cmake/CptLoader.cmake)
endif()
