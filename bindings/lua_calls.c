/* Calls for Lua: see lua_calls.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "lua_calls.h"

#include <stdbool.h>
#include <time.h>

/* Ctrl-C ends a wait within 100 ms. */
enum { SLICE_MS = 50, LOOK_MS = 500 };

/* The core's own patience with a server that cannot be used, where the client's options say nothing else. */
enum { OUTAGE_MS = 30000 };

/* The hooks that an interpreter may have set: of the running coroutine, and of the main one, where it sets them. Lua
 * 5.1 does not tell which that is; LuaJIT has one hook for all. */
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

int redlatch_lua_acquire(lua_State *L, redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                         redlatch_cancel *cancel) {
    struct hooks before = hooks_of(L);
    bool fired = false;
    int status = redlatch_lock_acquire_as(lock, owner, lease_ms, wait_ms, cancel, SLICE_MS);
    while (status == REDLATCH_AGAIN) {
        if (!fired && has_changed(L, &before)) {
            redlatch_cancel_fire(cancel);
            fired = true;
        }
        status = redlatch_lock_acquire_as(lock, owner, lease_ms, wait_ms, cancel, SLICE_MS);
    }
    if (status == REDLATCH_OK && (fired || has_changed(L, &before))) {
        /* Granted at the last moment to somebody whom the hook is about to end. What cannot be released now is so in
         * the background. */
        redlatch_lock_release_as(lock, owner);
        status = REDLATCH_CANCELLED;
    }
    return status;
}

static int64_t clock_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Each slice is a wait of its own to the core, so an outage that a long wait would outlast is outlasted here. */
int redlatch_lua_wait_free(lua_State *L, redlatch_client *client, const char *name, size_t name_size, int64_t wait_ms) {
    struct hooks before = hooks_of(L);
    int64_t start = clock_ms();
    int64_t answered = start;
    for (;;) {
        int64_t left = wait_ms == REDLATCH_FOREVER ? LOOK_MS : wait_ms - (clock_ms() - start);
        left = left < 0 ? 0 : left < LOOK_MS ? left : LOOK_MS;
        int status = redlatch_wait_free(client, name, name_size, left, NULL);
        bool out = status == REDLATCH_NO_REPLY || status == REDLATCH_UNREACHABLE;
        if ((status != REDLATCH_TIMEOUT && !out) || (left < LOOK_MS && !out)) {
            return status;
        }
        if (has_changed(L, &before)) {
            return REDLATCH_CANCELLED;
        }
        int64_t now = clock_ms();
        answered = out ? answered : now;
        bool over = wait_ms != REDLATCH_FOREVER && now - start >= wait_ms;
        if (over || now - answered >= OUTAGE_MS) {
            return status;
        }
        if (out) {
            nanosleep(&(struct timespec){.tv_nsec = SLICE_MS * 1000000L}, NULL);
        }
    }
}

int redlatch_lua_release(redlatch_lock *lock, uint64_t owner, uint64_t *lost_serial_out) {
    redlatch_hold hold = {.struct_size = sizeof hold};
    int status = redlatch_lock_hold(lock, owner, &hold);
    if (status != REDLATCH_OK) {
        return status;
    }
    *lost_serial_out = hold.serial;
    return redlatch_lock_release_as(lock, owner);
}
