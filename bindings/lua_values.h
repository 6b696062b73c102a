/* Converts whole numbers and texts between Lua and C exactly, for the typemaps of redlatch.i.
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

/* lua_values_is_signed returns whether the value is a whole number that an int64_t holds exactly; lua_values_signed
 * returns that number. */
bool lua_values_is_signed(lua_State *L, int index);
int64_t lua_values_signed(lua_State *L, int index);

/* Returns whether the value is a whole number that an int32_t holds. */
bool lua_values_is_small(lua_State *L, int index);

/* The same for uint64_t. Its numbers may also be strings of decimal digits. */
bool lua_values_is_unsigned(lua_State *L, int index);
uint64_t lua_values_unsigned(lua_State *L, int index);

/* Push a whole number, or its digits as a string if a number of this Lua would not be exact. */
void lua_values_push_signed(lua_State *L, int64_t value);
void lua_values_push_unsigned(lua_State *L, uint64_t value);

/* Replaces *place, an earlier copy, by a copy of the string at `index` with all its bytes and a final NUL. For nil, or
 * if there was no memory, the copy is NULL. Returns the size of the copy, or 0 for NULL. */
size_t lua_values_set_text(lua_State *L, int index, const char **place);

/* Free options and the copies of texts in them. NULL is allowed. */
void lua_values_free_redlatch_client_options(redlatch_client_options *options);
/* Returns the strings of a list, to be freed by free(). An entry that is no string has no bytes. Returns NULL if there
 * was no memory. */
redlatch_value *lua_values_list(lua_State *L, int index, size_t *count_out);

void lua_values_free_redlatch_lock_options(redlatch_lock_options *options);
void lua_values_free_redlatch_semaphore_options(redlatch_semaphore_options *options);

#endif /* LUA_VALUES_H */
