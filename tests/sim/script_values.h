/* Conversion of values between Lua and Redis, as EVAL does it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SCRIPT_VALUES_H
#define SCRIPT_VALUES_H

#include <lua.h>

#include "redis_reply.h"

/* Pushes a reply as redis.call returns it: nil becomes false, a status {ok = text}, an error {err = text}. */
void push_reply(lua_State *lua, const struct redis_reply *reply);

/* Pushes {err = text}. A text that begins with `-` has its own code; if it is one word, the code becomes `ERR`. Any
 * other text gets the code `ERR`. */
void push_error(lua_State *lua, const char *text);

/* Converts the value on top of the stack to the reply of a script. Numbers lose their fraction, false becomes nil, and
 * true becomes 1. A table with a string in `err` or `ok` becomes an error or a status, any other table an array that
 * ends at its first nil. Leaves the stack as it was. */
void reply_from_top(lua_State *lua, struct redis_reply *reply_out);

#endif
