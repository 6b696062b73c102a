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

/* The value on top as the answer of a script: numbers lose their fraction, false is nil, true 1, a table with a string
 * in `err` or `ok` an error or status, any other an array up to its first nil. Leaves the stack as it was. */
void reply_from_top(lua_State *lua, struct redis_reply *reply_out);

#endif
