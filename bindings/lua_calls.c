/* Calls for Lua: see lua_calls.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "lua_calls.h"

#include <stdbool.h>

/* Ctrl-C ends a wait within 100 ms. */
enum { MAX_BLOCK_MS = 50 };

/* A wait: what makes one slice of it, and for what. */
struct wait {
    int (*step)(struct wait *wait);
    redlatch_cancel *cancel;
    union {
        redlatch_lock *lock;
        redlatch_client *client;
        redlatch_semaphore *semaphore;
        redlatch_permit_semaphore *permit_semaphore;
        redlatch_latch *latch;
    } on;
    const char *name;
    size_t name_size;
    uint64_t owner;
    uint64_t serial;
    int64_t permits;
    int64_t lease_ms;
    int64_t wait_ms;
};

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

/* Waits; `interrupted_out` says whether a hook was set meanwhile, which ended the wait unless it was over by then. */
static int wait_resumably(lua_State *L, struct wait *wait, bool *interrupted_out) {
    struct hooks before = hooks_of(L);
    int status;
    bool fired = false;
    while ((status = wait->step(wait)) == REDLATCH_AGAIN) {
        if (!fired && has_changed(L, &before)) {
            redlatch_cancel_fire(wait->cancel);
            fired = true;
        }
    }
    *interrupted_out = fired || has_changed(L, &before);
    return status;
}

static int max_block_of_acquire(struct wait *wait) {
    return redlatch_lock_acquire_as(wait->on.lock, wait->owner, wait->lease_ms, wait->wait_ms, wait->cancel,
                                    MAX_BLOCK_MS);
}

int redlatch_lua_acquire(lua_State *L, redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                         redlatch_cancel *cancel) {
    struct wait wait = {.step = max_block_of_acquire,
                        .cancel = cancel,
                        .on.lock = lock,
                        .owner = owner,
                        .lease_ms = lease_ms,
                        .wait_ms = wait_ms};
    bool interrupted;
    int status = wait_resumably(L, &wait, &interrupted);
    if (status == REDLATCH_OK && interrupted) {
        /* Granted at the last moment to somebody whom the hook is about to end. What cannot be released now is so in
         * the background. */
        redlatch_lock_release_as(lock, owner);
        status = REDLATCH_CANCELLED;
    }
    return status;
}

static int max_block_of_permits(struct wait *wait) {
    return redlatch_semaphore_acquire(wait->on.semaphore, wait->permits, wait->wait_ms, wait->cancel, MAX_BLOCK_MS);
}

int redlatch_lua_acquire_permits(lua_State *L, redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                                 redlatch_cancel *cancel) {
    struct wait wait = {.step = max_block_of_permits,
                        .cancel = cancel,
                        .on.semaphore = semaphore,
                        .permits = permits,
                        .wait_ms = wait_ms};
    bool interrupted;
    int status = wait_resumably(L, &wait, &interrupted);
    if (status == REDLATCH_OK && interrupted) {
        redlatch_semaphore_release(semaphore, permits);
        status = REDLATCH_CANCELLED;
    }
    return status;
}

static int max_block_of_permits_with_ids(struct wait *wait) {
    return redlatch_permit_semaphore_acquire(wait->on.permit_semaphore, wait->permits, wait->lease_ms, wait->wait_ms,
                                             wait->cancel, MAX_BLOCK_MS, &wait->serial);
}

int redlatch_lua_acquire_permits_with_ids(lua_State *L, redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                          int64_t lease_ms, int64_t wait_ms, redlatch_cancel *cancel,
                                          uint64_t *serial_out) {
    struct wait wait = {.step = max_block_of_permits_with_ids,
                        .cancel = cancel,
                        .on.permit_semaphore = permit_semaphore,
                        .permits = permits,
                        .lease_ms = lease_ms,
                        .wait_ms = wait_ms};
    bool interrupted;
    int status = wait_resumably(L, &wait, &interrupted);
    if (status == REDLATCH_OK && interrupted) {
        for (uint64_t i = 0; i < (uint64_t)permits; i++) {
            redlatch_permit permit = {.struct_size = sizeof permit};
            if (redlatch_permit_semaphore_permit_status(permit_semaphore, wait.serial + i, &permit) == REDLATCH_OK) {
                redlatch_permit_semaphore_release(permit_semaphore, permit.id);
            }
        }
        return REDLATCH_CANCELLED;
    }
    *serial_out = wait.serial;
    return status;
}

static int max_block_of_latch(struct wait *wait) {
    return redlatch_latch_wait(wait->on.latch, wait->wait_ms, wait->cancel, MAX_BLOCK_MS);
}

int redlatch_lua_wait_latch(lua_State *L, redlatch_latch *latch, int64_t wait_ms, redlatch_cancel *cancel) {
    struct wait wait = {.step = max_block_of_latch, .cancel = cancel, .on.latch = latch, .wait_ms = wait_ms};
    bool interrupted;
    return wait_resumably(L, &wait, &interrupted);
}

static int max_block_of_free_name(struct wait *wait) {
    return redlatch_client_wait_free(wait->on.client, wait->name, wait->name_size, wait->wait_ms, wait->cancel,
                                     MAX_BLOCK_MS);
}

int redlatch_lua_wait_free(lua_State *L, redlatch_client *client, const char *name, size_t name_size, int64_t wait_ms,
                           redlatch_cancel *cancel) {
    struct wait wait = {.step = max_block_of_free_name,
                        .cancel = cancel,
                        .on.client = client,
                        .name = name,
                        .name_size = name_size,
                        .wait_ms = wait_ms};
    bool interrupted;
    return wait_resumably(L, &wait, &interrupted);
}
