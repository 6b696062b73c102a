/* Calls for Lua: see lua_calls.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "lua_calls.h"

#include <stdbool.h>

/* Ctrl-C ends a wait within 100 ms. */
enum { SLICE_MS = 50 };

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

/* Ends the wait when a hook was set; whether that is done. */
static bool fire_if_changed(lua_State *L, const struct hooks *before, redlatch_cancel *cancel, bool fired) {
    if (!fired && has_changed(L, before)) {
        redlatch_cancel_fire(cancel);
        return true;
    }
    return fired;
}

int redlatch_lua_acquire(lua_State *L, redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                         redlatch_cancel *cancel) {
    struct hooks before = hooks_of(L);
    bool fired = false;
    int status;
    while ((status = redlatch_lock_acquire_as(lock, owner, lease_ms, wait_ms, cancel, SLICE_MS)) == REDLATCH_AGAIN) {
        fired = fire_if_changed(L, &before, cancel, fired);
    }
    if (status == REDLATCH_OK && (fired || has_changed(L, &before))) {
        /* Granted at the last moment to somebody whom the hook is about to end. What cannot be released now is so in
         * the background. */
        redlatch_lock_release_as(lock, owner);
        status = REDLATCH_CANCELLED;
    }
    return status;
}

int redlatch_lua_wait_free(lua_State *L, redlatch_client *client, const char *name, size_t name_size, int64_t wait_ms,
                           redlatch_cancel *cancel) {
    struct hooks before = hooks_of(L);
    bool fired = false;
    int status;
    while ((status = redlatch_wait_free(client, name, name_size, wait_ms, cancel, SLICE_MS)) == REDLATCH_AGAIN) {
        fired = fire_if_changed(L, &before, cancel, fired);
    }
    return status;
}
