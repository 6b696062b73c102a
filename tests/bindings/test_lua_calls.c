/* Waits for Lua that a hook ends at the moment at which they are granted: bindings/lua_calls.c, on a core that grants
 * when the test says so.
 * SPDX-License-Identifier: Apache-2.0 */
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>

#include "lua_calls.h"
#include "unit.h"

enum { OWNER = 7, PERMITS = 3, FIRST_SERIAL = 100, SLICES_OF_A_WAIT = 3 };

/* What the core does, and what it was told. */
static struct core {
    lua_State *state; /* gets a hook in the last slice; NULL: gets none */
    int status;       /* how the wait ends; AGAIN: not before it is dropped */
    int begun;        /* what the beginning returns */
    int slices;
    int dropped;
    int released_locks;
    int64_t released_permits;
    uint64_t released_ids; /* by the bits of how far they are behind FIRST_SERIAL */
} core;

static void hook(lua_State *state, lua_Debug *where) {
    (void)state;
    (void)where;
}

static int begin(redlatch_wait **wait_out) {
    *wait_out = core.begun == REDLATCH_OK ? (redlatch_wait *)&core : NULL;
    return core.begun;
}

int redlatch_lock_begin_acquire(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                                redlatch_cancel *cancel, redlatch_wait **wait_out) {
    CHECK(!lock && owner == OWNER && lease_ms == 1 && wait_ms == 2 && !cancel);
    return begin(wait_out);
}

int redlatch_semaphore_begin_acquire(redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                                     redlatch_cancel *cancel, redlatch_wait **wait_out) {
    CHECK(!semaphore && permits == PERMITS && wait_ms == 2 && !cancel);
    return begin(wait_out);
}

int redlatch_permit_semaphore_begin_acquire(redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                            int64_t lease_ms, int64_t wait_ms, redlatch_cancel *cancel,
                                            redlatch_wait **wait_out) {
    CHECK(!permit_semaphore && permits == PERMITS && lease_ms == 1 && wait_ms == 2 && !cancel);
    return begin(wait_out);
}

int redlatch_latch_begin_wait(redlatch_latch *latch, int64_t wait_ms, redlatch_cancel *cancel,
                              redlatch_wait **wait_out) {
    CHECK(!latch && wait_ms == 2 && !cancel);
    return begin(wait_out);
}

int redlatch_client_begin_wait_free(redlatch_client *client, const char *name, size_t name_size, int64_t wait_ms,
                                    redlatch_cancel *cancel, redlatch_wait **wait_out) {
    CHECK(!client && name_size == 4 && strcmp(name, "name") == 0 && wait_ms == 2 && !cancel);
    return begin(wait_out);
}

int redlatch_wait_continue(redlatch_wait *wait, int64_t max_block_ms, uint64_t *serial_out) {
    CHECK(wait == (redlatch_wait *)&core && max_block_ms > 0 && max_block_ms <= 100);
    if (++core.slices < SLICES_OF_A_WAIT) {
        return REDLATCH_AGAIN;
    }
    CHECK_EQ_INT(core.slices, SLICES_OF_A_WAIT);
    if (core.state) {
        lua_sethook(core.state, hook, LUA_MASKCOUNT, 1);
    }
    if (serial_out) {
        *serial_out = FIRST_SERIAL;
    }
    return core.status;
}

void redlatch_wait_drop(redlatch_wait *wait) {
    CHECK(wait == (redlatch_wait *)&core);
    core.dropped++;
}

int redlatch_lock_release_as(redlatch_lock *lock, uint64_t owner) {
    CHECK(!lock && owner == OWNER && core.dropped == 1);
    core.released_locks++;
    return REDLATCH_OK;
}

int redlatch_semaphore_release(redlatch_semaphore *semaphore, int64_t permits) {
    CHECK(!semaphore && core.dropped == 1);
    core.released_permits += permits;
    return REDLATCH_OK;
}

/* The second permit is lost already. */
int redlatch_permit_semaphore_permit_status(redlatch_permit_semaphore *permit_semaphore, uint64_t serial,
                                            redlatch_permit *permit_out) {
    CHECK(!permit_semaphore && permit_out->struct_size == sizeof *permit_out);
    CHECK(serial >= FIRST_SERIAL && serial < FIRST_SERIAL + PERMITS);
    snprintf(permit_out->id, sizeof permit_out->id, "%d", (int)(serial - FIRST_SERIAL));
    return serial == FIRST_SERIAL + 1 ? REDLATCH_NOT_OWNED : REDLATCH_OK;
}

int redlatch_permit_semaphore_release(redlatch_permit_semaphore *permit_semaphore, const char *id) {
    CHECK(!permit_semaphore && id[0] >= '0' && id[0] <= '9' && core.dropped == 1);
    core.released_ids |= UINT64_C(1) << (id[0] - '0');
    return REDLATCH_OK;
}

typedef int (*call)(lua_State *state);

static int acquire(lua_State *state) {
    return redlatch_lua_acquire(state, NULL, OWNER, 1, 2);
}

static int acquire_permits(lua_State *state) {
    return redlatch_lua_acquire_permits(state, NULL, PERMITS, 2);
}

static int acquire_permits_with_ids(lua_State *state) {
    uint64_t serial = 0;
    int status = redlatch_lua_acquire_permits_with_ids(state, NULL, PERMITS, 1, 2, &serial);
    CHECK_EQ_INT(serial, core.slices == SLICES_OF_A_WAIT ? FIRST_SERIAL : 0);
    return status;
}

static int wait_latch(lua_State *state) {
    return redlatch_lua_wait_latch(state, NULL, 2);
}

static int wait_free(lua_State *state) {
    return redlatch_lua_wait_free(state, NULL, "name", 4, 2);
}

static const call calls[] = {acquire, acquire_permits, acquire_permits_with_ids, wait_latch, wait_free};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* A call of a wait that ends so, in a state with a hook of its own or without. */
static int play(call one, int status, bool interrupted, bool hooked) {
    lua_State *state = luaL_newstate();
    if (hooked) {
        lua_sethook(state, hook, LUA_MASKLINE, 0);
    }
    core = (struct core){.state = interrupted ? state : NULL, .status = status, .begun = REDLATCH_OK};
    int result = one(state);
    lua_close(state);
    CHECK_EQ_INT(core.slices, SLICES_OF_A_WAIT);
    CHECK_EQ_INT(core.dropped, 1);
    return result;
}

static void check_nothing_released(void) {
    CHECK(core.released_locks == 0 && core.released_permits == 0 && core.released_ids == 0);
}

/* A hook that was there before is no interruption. */
static void a_wait_ends_as_the_core_says(void) {
    for (size_t i = 0; i < CALLS; i++) {
        for (int hooked = 0; hooked < 2; hooked++) {
            CHECK_EQ_INT(play(calls[i], REDLATCH_OK, false, hooked), REDLATCH_OK);
            check_nothing_released();
            CHECK_EQ_INT(play(calls[i], REDLATCH_TIMEOUT, false, hooked), REDLATCH_TIMEOUT);
            check_nothing_released();
        }
    }
}

static void a_hook_ends_a_wait(void) {
    for (size_t i = 0; i < CALLS; i++) {
        CHECK_EQ_INT(play(calls[i], REDLATCH_AGAIN, true, false), REDLATCH_CANCELLED);
        check_nothing_released();
        CHECK_EQ_INT(play(calls[i], REDLATCH_TIMEOUT, true, false), REDLATCH_TIMEOUT);
        check_nothing_released();
    }
}

static void what_is_granted_at_the_last_moment_is_released(void) {
    CHECK_EQ_INT(play(acquire, REDLATCH_OK, true, false), REDLATCH_CANCELLED);
    CHECK(core.released_locks == 1 && core.released_permits == 0 && core.released_ids == 0);
    CHECK_EQ_INT(play(acquire_permits, REDLATCH_OK, true, false), REDLATCH_CANCELLED);
    CHECK(core.released_locks == 0 && core.released_permits == PERMITS && core.released_ids == 0);
    CHECK_EQ_INT(play(acquire_permits_with_ids, REDLATCH_OK, true, false), REDLATCH_CANCELLED);
    CHECK(core.released_locks == 0 && core.released_permits == 0 && core.released_ids == (1 | 1 << 2));
}

/* A latch stays open, and a name was free: nothing was taken. */
static void what_was_seen_at_the_last_moment_counts(void) {
    CHECK_EQ_INT(play(wait_latch, REDLATCH_OK, true, false), REDLATCH_OK);
    check_nothing_released();
    CHECK_EQ_INT(play(wait_free, REDLATCH_OK, true, false), REDLATCH_OK);
    check_nothing_released();
}

static void a_wait_that_does_not_begin(void) {
    for (size_t i = 0; i < CALLS; i++) {
        core = (struct core){.begun = REDLATCH_CLOSED};
        lua_State *state = luaL_newstate();
        CHECK_EQ_INT(calls[i](state), REDLATCH_CLOSED);
        lua_close(state);
        CHECK(core.slices == 0 && core.dropped == 0);
        check_nothing_released();
    }
}

int main(void) {
    RUN(a_wait_ends_as_the_core_says);
    RUN(a_hook_ends_a_wait);
    RUN(what_is_granted_at_the_last_moment_is_released);
    RUN(what_was_seen_at_the_last_moment_counts);
    RUN(a_wait_that_does_not_begin);
    return unit_done();
}
