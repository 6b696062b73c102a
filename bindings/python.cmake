# The Python module redlatch._core: the core's archive with the code that cffi generates from the public header.
# SPDX-License-Identifier: Apache-2.0

find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module)

set(part_headers ${CMAKE_CURRENT_SOURCE_DIR}/python_wait.h ${CMAKE_CURRENT_SOURCE_DIR}/release.h)
set(module_source ${CMAKE_CURRENT_BINARY_DIR}/_core.c)
add_custom_command(
    OUTPUT ${module_source}
    COMMAND ${Python_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/ffi_build.py
            --compiler ${CMAKE_C_COMPILER} --output ${module_source} ${core_headers} ${part_headers}
    DEPENDS ffi_build.py cdef.py ${core_headers} ${part_headers}
    VERBATIM)

# The warnings of the core hold for what is written by hand, not for what cffi writes.
add_library(redlatch_python_parts OBJECT python_wait.c release.c)
target_include_directories(redlatch_python_parts PRIVATE ${PROJECT_SOURCE_DIR}/core/include)
target_compile_definitions(redlatch_python_parts PRIVATE REDLATCH_STATIC)
target_link_libraries(redlatch_python_parts PRIVATE redlatch_options)
set_target_properties(redlatch_python_parts PROPERTIES POSITION_INDEPENDENT_CODE ON)

# The limited API makes one module serve CPython 3.9 and everything newer. CMake learns to ask for it in 3.26.
add_library(redlatch_python MODULE ${module_source} $<TARGET_OBJECTS:redlatch_python_parts>)
target_include_directories(redlatch_python PRIVATE
    ${PROJECT_SOURCE_DIR}/core/include ${CMAKE_CURRENT_SOURCE_DIR} ${Python_INCLUDE_DIRS})
target_compile_definitions(redlatch_python PRIVATE REDLATCH_STATIC Py_LIMITED_API=0x03090000)
set_target_properties(redlatch_python PROPERTIES
    OUTPUT_NAME _core PREFIX "" SUFFIX .abi3.so C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/redlatch)

include(CheckCSourceCompiles)

# The core is linked in, and hiredis where its archive is installed, so that a wheel needs
# nothing but libc. OpenSSL is the wheel's own, too: a shared one has another name on other distributions.
if(REDLATCH_ARCHIVES AND NOT REDLATCH_BUNDLED AND NOT hiredis_archive)
    message(STATUS "redlatch: no libhiredis.a, so the Python module needs the shared hiredis where it runs")
endif()
set(python_tls ${REDLATCH_TLS_LIBRARY})
if(REDLATCH_TLS AND REDLATCH_ARCHIVES AND NOT REDLATCH_BUNDLED)
    pkg_get_variable(openssl_libdir openssl libdir)
    find_library(ssl_archive NAMES libssl.a HINTS ${openssl_libdir})
    find_library(crypto_archive NAMES libcrypto.a HINTS ${openssl_libdir})
    # Debian 13's archive compresses by zlib and zstd, whose archives its package brings.
    find_library(zlib_archive NAMES libz.a)
    find_library(zstd_archive NAMES libzstd.a)
    set(compression)
    if(zlib_archive AND zstd_archive)
        set(compression ${zlib_archive} ${zstd_archive})
    endif()
    unset(openssl_archives_suffice CACHE)
    foreach(more "" "${compression}")
        if(NOT ssl_archive OR NOT crypto_archive OR openssl_archives_suffice)
            break()
        endif()
        set(openssl_archives ${ssl_archive} ${crypto_archive} ${more} ${CMAKE_DL_LIBS})
        set(CMAKE_REQUIRED_LIBRARIES ${openssl_archives} Threads::Threads)
        check_c_source_compiles(
            "#include <openssl/ssl.h>\nint main(void) { return SSL_CTX_new(TLS_client_method()) == NULL; }"
            openssl_archives_suffice)
        unset(CMAKE_REQUIRED_LIBRARIES)
        if(NOT openssl_archives_suffice)
            unset(openssl_archives_suffice CACHE)
        endif()
    endforeach()
    if(openssl_archives_suffice)
        set(python_tls ${openssl_archives})
    else()
        message(STATUS "redlatch: no libssl.a and libcrypto.a that link, so the Python module needs the shared OpenSSL")
    endif()
endif()
add_dependencies(redlatch_python redlatch_static)
target_link_libraries(redlatch_python PRIVATE
    $<TARGET_FILE:redlatch_static> ${REDLATCH_HIREDIS_ARCHIVE} ${python_tls} Threads::Threads)
set_property(TARGET redlatch_python APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:redlatch_static>)
redlatch_show_only(redlatch_python PyInit__core)
if(APPLE)
    target_link_options(redlatch_python PRIVATE -Wl,-undefined,dynamic_lookup) # the interpreter has Python's functions
else()
    # Our thread, and a thread's exit, may still run our code after dlclose.
    target_link_options(redlatch_python PRIVATE -Wl,-z,nodelete)
endif()
if(REDLATCH_SANITIZE)
    target_link_options(redlatch_python PRIVATE -fsanitize=${REDLATCH_SANITIZE})
elseif(REDLATCH_COVERAGE)
    target_link_options(redlatch_python PRIVATE --coverage)
endif()

# With the package beside the module, PYTHONPATH=<build>/python is enough to try what was built.
add_custom_target(redlatch_python_package ALL
    COMMAND ${CMAKE_COMMAND} -E copy_directory
            ${PROJECT_SOURCE_DIR}/python/redlatch ${PROJECT_BINARY_DIR}/python/redlatch
    VERBATIM)

# Not part of `cmake --install`: the module goes into wheels only, which ask for this component.
install(TARGETS redlatch_python LIBRARY DESTINATION redlatch COMPONENT python EXCLUDE_FROM_ALL)
