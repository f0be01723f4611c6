# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The cpt authors
#
# cpt_nanopb(TARGET FOLDER/NAME.proto): NAME.pb.c and NAME.pb.h are generated in the build
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
    get_filename_component(schema ${proto} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
    get_filename_component(folder ${schema} DIRECTORY)
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/nanopb)
    set(inputs ${schema})
    if(EXISTS ${folder}/${name}.options)
        list(APPEND inputs ${folder}/${name}.options)
    endif()
    file(MAKE_DIRECTORY ${generated})
    add_custom_command(
        OUTPUT ${generated}/${name}.pb.c ${generated}/${name}.pb.h
        COMMAND ${CPT_NANOPB_GENERATOR} -q -I ${folder} -D ${generated} ${name}.proto
        WORKING_DIRECTORY ${folder}
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
