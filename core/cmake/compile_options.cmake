# The interface target redlatch_options: warnings, sanitizers and coverage of everything that is compiled here.
# SPDX-License-Identifier: Apache-2.0

add_library(redlatch_options INTERFACE)
target_compile_options(redlatch_options INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -Werror=switch) # a status code that is forgotten in a switch does not compile
if(REDLATCH_WERROR)
    target_compile_options(redlatch_options INTERFACE -Werror)
endif()

if(REDLATCH_PORTABLE)
    target_compile_definitions(redlatch_options INTERFACE REDLATCH_PORTABLE=1)
endif()

if(REDLATCH_SANITIZE)
    if(NOT REDLATCH_SANITIZE MATCHES "^(address|undefined|address,undefined|thread)$")
        message(FATAL_ERROR "REDLATCH_SANITIZE is '${REDLATCH_SANITIZE}'; expected address,undefined or thread")
    endif()
    target_compile_options(redlatch_options INTERFACE
        -fsanitize=${REDLATCH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(redlatch_options INTERFACE -fsanitize=${REDLATCH_SANITIZE})
endif()

# Of everything in this build, the modules of the languages too: the linker's tables are written at the start only, and
# an overrun of a buffer ends the program. The checks of the C library need an optimiser, and sanitizers have their own.
add_compile_options(-fstack-protector-strong)
if(NOT APPLE) # whose linker knows neither, and needs none
    add_link_options(LINKER:-z,relro LINKER:-z,now)
endif()
if(NOT REDLATCH_SANITIZE AND NOT REDLATCH_FUZZ AND NOT REDLATCH_COVERAGE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()

if(REDLATCH_FUZZ)
    target_compile_options(redlatch_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(REDLATCH_COVERAGE)
    target_compile_options(redlatch_options INTERFACE --coverage -O0 -fprofile-update=atomic)
    target_link_options(redlatch_options INTERFACE --coverage)
endif()

# A broken invariant of the core ends these builds (base/invariant.h); all others give up the client.
if(REDLATCH_SANITIZE OR REDLATCH_FUZZ)
    target_compile_definitions(redlatch_options INTERFACE REDLATCH_ABORTS=1)
endif()
