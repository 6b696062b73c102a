-- The rock `redlatch`: the wrapper in Lua, and the module redlatch.core with the C core inside, linked with hiredis
-- and OpenSSL.
-- SPDX-License-Identifier: Apache-2.0
--
-- In the repository `luarocks make` of this file needs SWIG, CMake and a C compiler. The rock that `./dev rock` packs
-- carries what SWIG generates, and needs CMake and a C compiler only.

rockspec_format = "3.0"
package = "redlatch"
version = "0.1.0-1"
source = {
    url = "https://github.com/redlatch/redlatch/releases/download/v0.1.0/redlatch-lua-0.1.0.tar.gz",
    dir = "redlatch-lua-0.1.0",
}
description = {
    summary = "Distributed locks on Redis, wire-compatible with Redisson",
    detailed = [[
        Locks for processes on many machines, kept in a Redis or Valkey server: reentrant, renewed by a watchdog while
        they are held, with waiters that are woken and holders that are told when they lose one. A C core does the
        work; C, Python, Lua and Java (by Redisson) exclude each other on the same lock.]],
    homepage = "https://github.com/redlatch/redlatch",
    issues_url = "https://github.com/redlatch/redlatch/issues",
    maintainer = "The redlatch developers",
    license = "Apache-2.0",
    labels = {"redis", "valkey", "lock", "mutex", "distributed", "redisson"},
}
supported_platforms = {"unix", "!windows"}
dependencies = {"lua >= 5.1, < 5.5"}
external_dependencies = {
    HIREDIS = {header = "hiredis/hiredis.h"},
    OPENSSL = {header = "openssl/ssl.h"},
}
build = {
    type = "cmake",
    variables = {
        CMAKE_BUILD_TYPE = "RelWithDebInfo",
        REDLATCH_CLI = "OFF",
        REDLATCH_INSTALL = "OFF",
        REDLATCH_LUA = "rock",
        REDLATCH_LUA_INCLUDE = "$(LUA_INCDIR)",
        REDLATCH_LUA_MODULES = "$(LIBDIR)",
        REDLATCH_LUA_SOURCES = "$(LUADIR)",
    },
}
