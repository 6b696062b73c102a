# hiredis and OpenSSL: the system's, or with REDLATCH_BUNDLED archives of the sources that third-party.json names.
# SPDX-License-Identifier: Apache-2.0
#
# REDLATCH_HIREDIS            what needs hiredis' headers and functions links this
# REDLATCH_HIREDIS_ARCHIVE    the same as an archive, if there is one and REDLATCH_ARCHIVES is on
# REDLATCH_TLS_LIBRARY        OpenSSL; empty without REDLATCH_TLS

find_package(Threads REQUIRED)
set(REDLATCH_TLS_LIBRARY)
if(REDLATCH_BUNDLED)
    find_package(PkgConfig)
    find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
    set(REDLATCH_THIRD_PARTY ${PROJECT_SOURCE_DIR}/build/third-party CACHE PATH "Where sources of others are kept")

    # redlatch_third_party(<variable> [word...]): the path that third_party.py prints.
    function(redlatch_third_party variable)
        execute_process(
            COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/core/cmake/third_party.py ${ARGN}
            OUTPUT_VARIABLE printed OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
        if(status)
            message(FATAL_ERROR "core/cmake/third_party.py failed: ${status}")
        endif()
        set(${variable} ${printed} PARENT_SCOPE)
    endfunction()

    # Only the reader of replies is used; it stands on all of these but for net.c, which hiredis.c calls.
    redlatch_third_party(hiredis_sources sources ${REDLATCH_THIRD_PARTY} hiredis)
    add_library(redlatch_hiredis STATIC)
    foreach(source IN ITEMS alloc hiredis net read sds sockcompat)
        target_sources(redlatch_hiredis PRIVATE ${hiredis_sources}/${source}.c)
    endforeach()
    target_include_directories(redlatch_hiredis SYSTEM PUBLIC ${hiredis_sources})
    target_compile_options(redlatch_hiredis PRIVATE -w -ffunction-sections -fdata-sections
        -ffile-prefix-map=${hiredis_sources}=hiredis)
    set_target_properties(redlatch_hiredis PROPERTIES POSITION_INDEPENDENT_CODE ON C_EXTENSIONS ON)
    set(REDLATCH_HIREDIS redlatch_hiredis)
    set(REDLATCH_HIREDIS_ARCHIVE redlatch_hiredis)
    if(REDLATCH_TLS)
        redlatch_third_party(openssl_built openssl ${REDLATCH_THIRD_PARTY}
            ${CMAKE_C_COMPILER} ${CMAKE_AR} ${CMAKE_RANLIB})
        add_library(redlatch_openssl INTERFACE)
        target_include_directories(redlatch_openssl SYSTEM INTERFACE ${openssl_built}/include)
        target_link_libraries(redlatch_openssl INTERFACE ${openssl_built}/libssl.a ${openssl_built}/libcrypto.a)
        set(REDLATCH_TLS_LIBRARY redlatch_openssl)
    endif()
    return()
endif()

find_package(PkgConfig REQUIRED)
pkg_check_modules(hiredis REQUIRED IMPORTED_TARGET "hiredis>=0.14" "hiredis<2") # spelled #include <hiredis.h>
set(REDLATCH_HIREDIS PkgConfig::hiredis)
set(REDLATCH_HIREDIS_ARCHIVE ${REDLATCH_HIREDIS})
if(REDLATCH_ARCHIVES)
    pkg_get_variable(hiredis_libdir hiredis libdir)
    find_library(hiredis_archive NAMES libhiredis.a HINTS ${hiredis_libdir})
    if(hiredis_archive)
        set(REDLATCH_HIREDIS_ARCHIVE ${hiredis_archive})
    endif()
endif()
if(REDLATCH_TLS)
    pkg_check_modules(openssl REQUIRED IMPORTED_TARGET "openssl>=3.0" "openssl<5")
    set(REDLATCH_TLS_LIBRARY PkgConfig::openssl)
endif()
