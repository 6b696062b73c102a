# What `cmake --install` leaves: header, libraries, redlatch.pc, the CMake package and the manual page of the library;
# the command's own files are in core/cli.
# SPDX-License-Identifier: Apache-2.0

include(CMakePackageConfigHelpers)

file(GLOB public_headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/*.h)
install(FILES ${public_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
# A bundled build's archive would need archives that are not installed.
set(installed redlatch)
if(NOT REDLATCH_BUNDLED)
    list(APPEND installed redlatch_static)
endif()
install(TARGETS ${installed} EXPORT redlatchTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

# pkg-config: paths are relative to the file, so that the installed tree may be moved.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/redlatch)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pc ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
set(libs_private)
if(NOT REDLATCH_BUNDLED)
    list(APPEND libs_private ${hiredis_LDFLAGS})
    if(REDLATCH_TLS)
        list(APPEND libs_private ${openssl_LDFLAGS})
    endif()
endif()
list(APPEND libs_private -pthread)
list(FILTER libs_private EXCLUDE REGEX "^-L/usr/lib") # the linker looks there by itself
string(JOIN " " libs_private ${libs_private})
configure_file(cmake/redlatch.pc.in ${CMAKE_CURRENT_BINARY_DIR}/redlatch.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/redlatch.pc DESTINATION ${pkgconfig_dir} COMPONENT development)

# find_package(redlatch): below 1.0 a minor version may break what was built for another.
install(EXPORT redlatchTargets NAMESPACE redlatch:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(cmake/redlatchConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/redlatchConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/redlatchConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/redlatchConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/redlatchConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT development)

# The manual page is the headers' own text.
find_package(Python3 3.9 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
    set(page ${CMAKE_CURRENT_BINARY_DIR}/redlatch.3)
    add_custom_command(OUTPUT ${page}
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/cmake/make_manual.py
                ${CMAKE_CURRENT_SOURCE_DIR}/include ${page}
        DEPENDS cmake/make_manual.py ${public_headers}
        VERBATIM)
    add_custom_target(redlatch_manual ALL DEPENDS ${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT development)
else()
    message(STATUS "redlatch: no Python 3.9 or newer, so redlatch.3 is not made")
endif()
