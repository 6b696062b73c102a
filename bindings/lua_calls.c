/* Calls for Lua: see lua_calls.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "lua_calls.h"

#include <stdbool.h>
#include <time.h>

/* Ctrl-C ends a wait within 100 ms. */
enum { MAX_BLOCK_MS = 50 };

/* The hooks of the running coroutine and of the main one, where interpreters set theirs. Lua 5.1 does not tell which
 * coroutine is the main one; LuaJIT has one hook for all. */
struct hooks {
    lua_Hook own;
    lua_Hook of_main;
};

static struct hooks hooks_of(lua_State *L) {
    struct hooks hooks = {.own = lua_gethook(L), .of_main = NULL};
#if LUA_VERSION_NUM >= 502
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    hooks.of_main = lua_gethook(lua_tothread(L, -1));
    lua_pop(L, 1);
#endif
    return hooks;
}

static bool has_changed(lua_State *L, const struct hooks *before) {
    struct hooks now = hooks_of(L);
    return now.own != before->own || now.of_main != before->of_main;
}

/* Continues a wait, which was begun with the status `begun`, to its end. *interrupted_out: whether a hook was set
 * during the wait. That ends the wait unless it is done. `serial_out` may be NULL. */
static int finish(lua_State *L, int begun, redlatch_wait *wait, bool *interrupted_out, uint64_t *serial_out) {
    if (begun != REDLATCH_OK) {
        *interrupted_out = false;
        return begun;
    }
    struct hooks before = hooks_of(L);
    int status = REDLATCH_AGAIN;
    while (status == REDLATCH_AGAIN && !has_changed(L, &before)) {
        status = redlatch_wait_continue(wait, MAX_BLOCK_MS, serial_out);
    }
    *interrupted_out = has_changed(L, &before);
    redlatch_wait_drop(wait);
    return status == REDLATCH_AGAIN ? REDLATCH_CANCELLED : status;
}

int redlatch_lua_acquire(lua_State *L, redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms) {
    redlatch_wait *wait = NULL;
    bool interrupted;
    int begun = redlatch_lock_begin_acquire(lock, owner, lease_ms, wait_ms, NULL, &wait);
    int status = finish(L, begun, wait, &interrupted, NULL);
    if (status == REDLATCH_OK && interrupted) {
        /* The hook is about to end the caller, so the grant is released. If that fails now, it goes on in the
         * background. */
        redlatch_lock_release_as(lock, owner);
        status = REDLATCH_CANCELLED;
    }
    return status;
}

int redlatch_lua_acquire_permits(lua_State *L, redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms) {
    redlatch_wait *wait = NULL;
    bool interrupted;
    int begun = redlatch_semaphore_begin_acquire(semaphore, permits, wait_ms, NULL, &wait);
    int status = finish(L, begun, wait, &interrupted, NULL);
    if (status == REDLATCH_OK && interrupted) {
        redlatch_semaphore_release(semaphore, permits);
        status = REDLATCH_CANCELLED;
    }
    return status;
}

int redlatch_lua_acquire_permits_with_ids(lua_State *L, redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                          int64_t lease_ms, int64_t wait_ms, uint64_t *serial_out) {
    redlatch_wait *wait = NULL;
    bool interrupted;
    int begun = redlatch_permit_semaphore_begin_acquire(permit_semaphore, permits, lease_ms, wait_ms, NULL, &wait);
    int status = finish(L, begun, wait, &interrupted, serial_out);
    if (status == REDLATCH_OK && interrupted) {
        for (uint64_t i = 0; i < (uint64_t)permits; i++) {
            redlatch_permit permit = {.struct_size = sizeof permit};
            if (redlatch_permit_semaphore_permit_status(permit_semaphore, *serial_out + i, &permit) == REDLATCH_OK) {
                redlatch_permit_semaphore_release(permit_semaphore, permit.id);
            }
        }
        status = REDLATCH_CANCELLED;
    }
    return status;
}

int redlatch_lua_wait_latch(lua_State *L, redlatch_latch *latch, int64_t wait_ms) {
    redlatch_wait *wait = NULL;
    bool interrupted;
    int begun = redlatch_latch_begin_wait(latch, wait_ms, NULL, &wait);
    return finish(L, begun, wait, &interrupted, NULL);
}

int redlatch_lua_wait_free(lua_State *L, redlatch_client *client, const char *name, size_t name_size, int64_t wait_ms) {
    redlatch_wait *wait = NULL;
    bool interrupted;
    int begun = redlatch_client_begin_wait_free(client, name, name_size, wait_ms, NULL, &wait);
    return finish(L, begun, wait, &interrupted, NULL);
}

int64_t redlatch_lua_clock_ms(void) {
    struct timespec now;
#ifdef CLOCK_BOOTTIME
    clock_gettime(CLOCK_BOOTTIME, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
