/* What scripts see beside KEYS and ARGV: a few functions of Lua, and `redis`, none of which they can change.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SCRIPT_SANDBOX_H
#define SCRIPT_SANDBOX_H

#include <lua.h>

/* Pushes two tables: the real globals, which the host may change, and above it the globals as scripts see them. `host`
 * is what `redis_call` and `redis_pcall` find in their first upvalue. */
void push_sandbox(lua_State *lua, void *host, lua_CFunction redis_call, lua_CFunction redis_pcall);

#endif
