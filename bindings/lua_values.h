/* Whole numbers and texts between Lua and C, exactly: used by the typemaps of redlatch.i.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lua 5.1, 5.2 and LuaJIT have floats only, which are exact up to 2^53; Lua 5.3 and newer have 64-bit integers. What a
 * number cannot hold exactly travels as a string of decimal digits. */
#ifndef LUA_VALUES_H
#define LUA_VALUES_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlatch.h"

/* Whether the value is a whole number that an int64_t holds exactly; and that number. */
bool lua_values_is_signed(lua_State *L, int index);
int64_t lua_values_signed(lua_State *L, int index);

/* Whether it is one that an int32_t holds. */
bool lua_values_is_small(lua_State *L, int index);

/* The same for uint64_t, whose numbers may also be strings of decimal digits. */
bool lua_values_is_unsigned(lua_State *L, int index);
uint64_t lua_values_unsigned(lua_State *L, int index);

/* Push one value: a whole number, or its digits where a number of this Lua would not be exact. */
void lua_values_push_signed(lua_State *L, int64_t value);
void lua_values_push_unsigned(lua_State *L, uint64_t value);

/* Puts a copy of the string at `index` (nil: none), with all its bytes and a final NUL, in place of an earlier copy.
 * Returns its size; a copy for which there is no memory is NULL and has none. */
size_t lua_values_set_text(lua_State *L, int index, const char **place);

/* Free options with the copies of texts in them; NULL is allowed. */
void lua_values_free_redlatch_client_options(redlatch_client_options *options);
/* The strings of a list, to be freed by free(); what is no string there has no bytes. NULL without memory. */
redlatch_value *lua_values_list(lua_State *L, int index, size_t *count_out);

void lua_values_free_redlatch_lock_options(redlatch_lock_options *options);
void lua_values_free_redlatch_semaphore_options(redlatch_semaphore_options *options);

#endif /* LUA_VALUES_H */
