# The Lua module redlatch.core, for each Lua: the core's archive with the code that SWIG makes of the public header.
# SPDX-License-Identifier: Apache-2.0
#
# REDLATCH_LUA lists pkg-config names, such as lua5.1;lua5.4, whose modules are left in <build>/lua/<name>/redlatch; a
# module for Lua 5.1 serves LuaJIT, too. Or it is "rock": then LuaRocks says in REDLATCH_LUA_INCLUDE where the headers
# are, and in REDLATCH_LUA_MODULES and REDLATCH_LUA_SOURCES where to install.

# A packed rock carries what SWIG has generated, so that SWIG is not needed where it is installed.
set(lua_wrap ${CMAKE_CURRENT_SOURCE_DIR}/generated/redlatch_lua.c)
if(NOT EXISTS ${lua_wrap})
    find_program(SWIG_PROGRAM swig)
    if(NOT SWIG_PROGRAM)
        message(FATAL_ERROR "SWIG is needed to build the Lua module from the repository (Debian: swig); "
            "the packed rock needs none")
    endif()
    set(lua_wrap ${CMAKE_BINARY_DIR}/generated/redlatch_lua.c)
    # Warnings of SWIG are errors, too: each of them is a value that would not come through.
    add_custom_command(
        OUTPUT ${lua_wrap}
        # Make starts this and the embedding of scripts, which makes the same folder, in any order.
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
        COMMAND ${SWIG_PROGRAM} -lua -Wall -Werror -nomoduleglobal -no-old-metatable-bindings
                -I${PROJECT_SOURCE_DIR}/core/include -o ${lua_wrap} ${CMAKE_CURRENT_SOURCE_DIR}/redlatch.i
        DEPENDS redlatch.i lua_calls.h lua_values.h release.h ${core_headers}
        VERBATIM)
endif()
add_custom_target(redlatch_lua_wrap DEPENDS ${lua_wrap})

# redlatch_lua_module(<target> <include directories>): the module for one Lua. The interpreter that loads it has Lua's
# own functions.
function(redlatch_lua_module target include_directories)
    # The warnings of the core hold for what is written by hand, not for what SWIG writes.
    add_library(${target}_parts OBJECT lua_calls.c lua_values.c release.c)
    target_link_libraries(${target}_parts PRIVATE redlatch_options)
    add_library(${target} MODULE ${lua_wrap} $<TARGET_OBJECTS:${target}_parts>)
    foreach(part IN ITEMS ${target} ${target}_parts)
        target_include_directories(${part} PRIVATE ${PROJECT_SOURCE_DIR}/core/include ${CMAKE_CURRENT_SOURCE_DIR})
        target_include_directories(${part} SYSTEM PRIVATE ${include_directories})
        target_compile_definitions(${part} PRIVATE REDLATCH_STATIC _POSIX_C_SOURCE=200809L)
        set_target_properties(${part} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    endforeach()
    # SWIG marks the functions that Lua looks for as visible by itself.
    set_target_properties(${target} PROPERTIES OUTPUT_NAME core PREFIX "" SUFFIX .so C_VISIBILITY_PRESET hidden)
    add_dependencies(${target} redlatch_lua_wrap redlatch_static)
    target_link_libraries(${target} PRIVATE $<TARGET_FILE:redlatch_static> ${REDLATCH_HIREDIS} ${REDLATCH_TLS_LIBRARY}
        Threads::Threads)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:redlatch_static>)
    redlatch_show_only(${target} luaopen_redlatch_core)
    if(APPLE)
        target_link_options(${target} PRIVATE -Wl,-undefined,dynamic_lookup) # the interpreter has Lua's functions
    else()
        # A Lua state that ends unloads its modules; our thread may still run our code.
        target_link_options(${target} PRIVATE -Wl,-z,nodelete)
    endif()
    if(REDLATCH_SANITIZE)
        target_link_options(${target} PRIVATE -fsanitize=${REDLATCH_SANITIZE})
    elseif(REDLATCH_COVERAGE)
        target_link_options(${target} PRIVATE --coverage)
    endif()
endfunction()

if(REDLATCH_LUA STREQUAL "rock")
    foreach(variable IN ITEMS REDLATCH_LUA_INCLUDE REDLATCH_LUA_MODULES REDLATCH_LUA_SOURCES)
        if(NOT ${variable})
            message(FATAL_ERROR "REDLATCH_LUA is rock and ${variable} is empty: expected what LuaRocks passes")
        endif()
    endforeach()
    redlatch_lua_module(redlatch_lua ${REDLATCH_LUA_INCLUDE})
    install(TARGETS redlatch_lua LIBRARY DESTINATION ${REDLATCH_LUA_MODULES}/redlatch)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/lua-rock/redlatch DESTINATION ${REDLATCH_LUA_SOURCES}
        FILES_MATCHING PATTERN *.lua)
else()
    add_custom_target(redlatch_lua)
    foreach(lua IN LISTS REDLATCH_LUA)
        pkg_check_modules(${lua} REQUIRED ${lua})
        redlatch_lua_module(redlatch_${lua} "${${lua}_INCLUDE_DIRS}")
        set_target_properties(redlatch_${lua} PROPERTIES
            LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lua/${lua}/redlatch)
        add_dependencies(redlatch_lua redlatch_${lua})
    endforeach()
endif()
