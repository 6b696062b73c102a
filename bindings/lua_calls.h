/* Calls for Lua: waits that Ctrl-C ends, and a clock.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A Lua state runs nothing while it waits in C. On Ctrl-C the standalone interpreter sets a hook, which is run at the
 * state's next instruction. So the wait checks every 50 ms whether a hook was set. */
#ifndef LUA_CALLS_H
#define LUA_CALLS_H

#include <lua.h>

#include "redlatch.h"

/* redlatch_lock_acquire_as, but returns CANCELLED, with nothing held or queued, if a hook was set during the wait. */
int redlatch_lua_acquire(lua_State *L, redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms);

/* The same for redlatch_semaphore_acquire and redlatch_permit_semaphore_acquire. */
int redlatch_lua_acquire_permits(lua_State *L, redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms);
int redlatch_lua_acquire_permits_with_ids(lua_State *L, redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                          int64_t lease_ms, int64_t wait_ms, uint64_t *serial_out);

/* redlatch_latch_wait, but returns CANCELLED if a hook was set during the wait, unless the latch was opened before. */
int redlatch_lua_wait_latch(lua_State *L, redlatch_latch *latch, int64_t wait_ms);

/* redlatch_client_wait_free, but returns CANCELLED if a hook was set during the wait, unless the name was free
 * before. */
int redlatch_lua_wait_free(lua_State *L, redlatch_client *client, const char *name, size_t name_size, int64_t wait_ms);

/* Returns the milliseconds of a clock that is never set. Lua has no such clock. */
int64_t redlatch_lua_clock_ms(void);

#endif /* LUA_CALLS_H */
