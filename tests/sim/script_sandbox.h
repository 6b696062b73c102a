/* What scripts see besides KEYS and ARGV: a few functions of Lua, and `redis`. Scripts can change none of them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SCRIPT_SANDBOX_H
#define SCRIPT_SANDBOX_H

#include <lauxlib.h>
#include <lua.h>

/* Pushes two tables: the real globals, which the host may change, and above it the globals as scripts see them. The
 * `redis_functions`, which end with a name of NULL, find `host` in their first upvalue. */
void push_sandbox(lua_State *lua, void *host, const luaL_Reg *redis_functions);

#endif
