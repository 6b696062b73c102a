# Turns the server-side scripts into C and into the exact bytes that the tests run.
# SPDX-License-Identifier: Apache-2.0
#
# Run as:  cmake -DSCRIPTS=core/src/scripts -DOUT=build -P core/cmake/embed_scripts.cmake
# Writes:  OUT/scripts/<name>.lua                     the text that goes to the server
#          OUT/generated/scripts_embedded.h and .c    the same bytes with their SHA1, indexed by enum script_id
#
# The comment lines at the head of a script are for its readers; they are left out of the text, and so out of its SHA1.
# Nothing else is changed, so the same source always gives the same digest. A head that says `Begins with shared/x.lua`
# has the text of that file put before its own; there may be several, and these may name others. Each is put in once.
# A line `Goes on with shared/x.lua.` in the code is replaced by that text: what comes before it runs without it.
# A script that publishes has a second text, with 'spublish' in place of 'publish', for messages within a shard.

cmake_minimum_required(VERSION 3.18)

if(NOT SCRIPTS OR NOT OUT)
    message(FATAL_ERROR "embed_scripts: pass -DSCRIPTS=<folder of .lua files> and -DOUT=<folder to write to>")
endif()

# The text of a shared part, or nothing where the script has it already.
function(put_in part_name text_out)
    set(text "")
    get_property(parts GLOBAL PROPERTY PUT_IN)
    if(NOT part_name IN_LIST parts)
        set_property(GLOBAL APPEND PROPERTY PUT_IN "${part_name}")
        strip_head("${SCRIPTS}/shared/${part_name}.lua" text)
    endif()
    set(${text_out} "${text}" PARENT_SCOPE)
endfunction()

# Leaves out the comment and blank lines before the first line of code, and puts in what the head names.
function(strip_head path text_out)
    file(READ "${path}" text)
    set(before "")
    while(text MATCHES "^(--[^\n]*|[ \t]*)\n")
        set(line "${CMAKE_MATCH_0}")
        if(line MATCHES "^--\\[=*\\[")
            message(FATAL_ERROR "embed_scripts: ${path} begins with a long comment; write `-- ` before each line")
        endif()
        if(line MATCHES "^-- Begins with shared/([a-z_]+)\\.lua")
            put_in("${CMAKE_MATCH_1}" part)
            string(APPEND before "${part}")
        endif()
        string(LENGTH "${line}" length)
        string(SUBSTRING "${text}" ${length} -1 text)
    endwhile()
    if(text STREQUAL "")
        message(FATAL_ERROR "embed_scripts: ${path} holds no code")
    endif()
    while(text MATCHES "\n-- Goes on with shared/([a-z_]+)\\.lua\\.\n")
        set(line "${CMAKE_MATCH_0}")
        put_in("${CMAKE_MATCH_1}" part)
        string(REPLACE "${line}" "\n${part}" text "${text}")
    endwhile()
    set(${text_out} "${before}${text}" PARENT_SCOPE)
endfunction()

# Touches a file only when its content changes, so that nothing is compiled again for nothing.
function(write_if_changed path content)
    if(EXISTS "${path}")
        file(READ "${path}" old)
        if(old STREQUAL content)
            return()
        endif()
    endif()
    file(WRITE "${path}" "${content}")
endfunction()

# The bytes of a text as the lines of an initializer, and their number.
function(c_bytes text lines_out size_out)
    string(HEX "${text}" bytes)
    string(LENGTH "${bytes}" size)
    math(EXPR size "${size} / 2")
    string(REGEX REPLACE "(................................)" "\\1\n   " lines "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" " '\\\\x\\1'," lines "${lines}")
    set(${lines_out} "${lines}" PARENT_SCOPE)
    set(${size_out} "${size}" PARENT_SCOPE)
endfunction()

file(GLOB paths "${SCRIPTS}/*.lua")
list(SORT paths)
set(members "")
set(texts "")
set(entries "")
foreach(path IN LISTS paths)
    get_filename_component(name "${path}" NAME_WE)
    if(NOT path MATCHES "/[a-z][a-z0-9_]*\\.lua$")
        message(FATAL_ERROR "embed_scripts: ${path}: expected a name of lower-case letters, digits and underscores")
    endif()
    set_property(GLOBAL PROPERTY PUT_IN "")
    strip_head("${path}" text)
    write_if_changed("${OUT}/scripts/${name}.lua" "${text}")
    file(SHA1 "${OUT}/scripts/${name}.lua" digest)
    c_bytes("${text}" lines size)
    string(TOUPPER "SCRIPT_${name}" member)
    string(APPEND members "    ${member},\n")
    string(APPEND texts "static const char text_${name}[] = {\n   ${lines} 0\n};\n\n")
    set(sharded "NULL")
    string(REPLACE "'publish'" "'spublish'" sharded_text "${text}")
    if(NOT sharded_text STREQUAL text)
        string(SHA1 sharded_digest "${sharded_text}")
        c_bytes("${sharded_text}" lines sharded_size)
        set(sharded "&sharded_${name}")
        string(APPEND texts "static const char sharded_text_${name}[] = {\n   ${lines} 0\n};\n\n"
            "static const struct script_embedded sharded_${name} = {\n"
            "    \"${name}\", sharded_text_${name}, ${sharded_size}, \"${sharded_digest}\", NULL};\n\n")
    endif()
    string(APPEND entries "    [${member}] = {\"${name}\", text_${name}, ${size}, \"${digest}\", ${sharded}},\n")
endforeach()

set(notice
    "/* Generated from the .lua files of core/src/scripts by embed_scripts.cmake; edit those, not this.
 * SPDX-License-Identifier: Apache-2.0 */\n")
write_if_changed("${OUT}/generated/scripts_embedded.h" "${notice}#ifndef REDLATCH_SCRIPTS_EMBEDDED_H
#define REDLATCH_SCRIPTS_EMBEDDED_H

#include <stddef.h>

/* One member for each script, named after its file, in alphabetical order. */
enum script_id {
${members}    SCRIPT_COUNT
};

struct script_embedded {
    const char *name; /* of the file, without .lua */
    const char *text; /* as sent to the server; NUL-terminated */
    size_t size;      /* of the text, without the NUL */
    char sha1[41];    /* what EVALSHA wants; NUL-terminated */
    const struct script_embedded *sharded; /* the same with SPUBLISH in place of PUBLISH; NULL: it publishes nothing */
};

/* Indexed by enum script_id; one more entry, all zero, ends it. */
extern const struct script_embedded scripts_embedded[SCRIPT_COUNT + 1];

#endif\n")
write_if_changed("${OUT}/generated/scripts_embedded.c"
    "${notice}#include \"scripts_embedded.h\"\n\n${texts}
const struct script_embedded scripts_embedded[SCRIPT_COUNT + 1] = {
${entries}    [SCRIPT_COUNT] = {NULL, NULL, 0, \"\", NULL}
};\n")

# A script that was renamed or removed must not live on where the tests look for scripts.
file(GLOB written "${OUT}/scripts/*.lua")
foreach(path IN LISTS written)
    get_filename_component(name "${path}" NAME)
    if(NOT EXISTS "${SCRIPTS}/${name}")
        file(REMOVE "${path}")
    endif()
endforeach()
