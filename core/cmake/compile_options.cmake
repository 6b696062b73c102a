# The interface target redlatch_options: warnings, sanitizers and coverage of everything that is compiled here.
# SPDX-License-Identifier: Apache-2.0

add_library(redlatch_options INTERFACE)
target_compile_options(redlatch_options INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -Werror=switch) # a status code that is forgotten in a switch does not compile
if(REDLATCH_WERROR)
    target_compile_options(redlatch_options INTERFACE -Werror)
endif()

if(REDLATCH_SANITIZE)
    if(NOT REDLATCH_SANITIZE MATCHES "^(address|undefined|address,undefined|thread)$")
        message(FATAL_ERROR "REDLATCH_SANITIZE is '${REDLATCH_SANITIZE}'; expected address,undefined or thread")
    endif()
    target_compile_options(redlatch_options INTERFACE
        -fsanitize=${REDLATCH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(redlatch_options INTERFACE -fsanitize=${REDLATCH_SANITIZE})
endif()

if(REDLATCH_COVERAGE)
    target_compile_options(redlatch_options INTERFACE --coverage -O0 -fprofile-update=atomic)
    target_link_options(redlatch_options INTERFACE --coverage)
endif()
