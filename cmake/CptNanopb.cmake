# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# cpt_nanopb(TARGET NAME.proto): NAME.pb.c and NAME.pb.h are generated in the build
# folder, compiled into TARGET, and included by its sources as "NAME.pb.h". A file
# NAME.options beside the schema is used if present. The code is generated, so it is
# compiled without our warnings. nanopb itself is static and stays hidden.
#
# Never define PB_FIELD_32BIT, PB_ENABLE_MALLOC or PB_WITHOUT_64BIT: the library of the
# distribution is built without them, and the layout of its structs would differ.

find_package(nanopb CONFIG REQUIRED)
find_program(CPT_NANOPB_GENERATOR NAMES nanopb_generator.py nanopb_generator REQUIRED
    DOC "the generator of nanopb")

function(cpt_nanopb target proto)
    get_filename_component(name ${proto} NAME_WE)
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/nanopb)
    set(inputs ${CMAKE_CURRENT_SOURCE_DIR}/${proto})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}.options)
        list(APPEND inputs ${CMAKE_CURRENT_SOURCE_DIR}/${name}.options)
    endif()
    file(MAKE_DIRECTORY ${generated})
    add_custom_command(
        OUTPUT ${generated}/${name}.pb.c ${generated}/${name}.pb.h
        COMMAND ${CPT_NANOPB_GENERATOR} -q -I ${CMAKE_CURRENT_SOURCE_DIR} -D ${generated}
                ${proto}
        WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
        DEPENDS ${inputs}
        COMMENT "nanopb ${proto}"
        VERBATIM)
    # A separate object library, because warnings are an option of a whole target.
    add_library(${target}_${name}_pb OBJECT ${generated}/${name}.pb.c
        ${generated}/${name}.pb.h)
    target_include_directories(${target}_${name}_pb SYSTEM PUBLIC
        $<TARGET_PROPERTY:nanopb::protobuf-nanopb-static,INTERFACE_INCLUDE_DIRECTORIES>)
    set_target_properties(${target}_${name}_pb PROPERTIES
        C_STANDARD 11 C_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)
    if(CPT_SANITIZE)
        target_compile_options(${target}_${name}_pb PRIVATE -fsanitize=${CPT_SANITIZE})
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${name}_pb>)
    add_dependencies(${target} ${target}_${name}_pb)
    target_include_directories(${target} SYSTEM PRIVATE ${generated}
        $<TARGET_PROPERTY:nanopb::protobuf-nanopb-static,INTERFACE_INCLUDE_DIRECTORIES>)
    target_link_libraries(${target} PRIVATE nanopb::protobuf-nanopb-static)
endfunction()
